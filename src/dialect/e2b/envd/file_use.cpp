#include "dialect/e2b/envd/file_use.hpp"

#include "dialect/e2b/envd/paths.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::Reply;

Result<std::string> FileUse::resolve(std::string_view path) const { return resolve_path(path, user.home); }

Task<Reply<std::unique_ptr<FileUse>>> begin_file_use(DataCall& call, std::string user) {
  CLOCHE_CO_TRY(SandboxUser acting, user_of(call, user));
  auto sandbox = call.use->lease().shared();
  auto turn = co_await api::begin_file_operation(*call.use);
  if (!turn) co_return std::unexpected(connect::Failure(std::move(turn).error()));
  Files files = sandbox->files_of(acting);
  co_return std::unique_ptr<FileUse>(
      new FileUse{std::move(*turn), std::move(sandbox), std::move(acting), std::move(files)});
}

Deadline file_deadline(Deadline asked) { return asked.sooner(Deadline::after(api::file_timeout)); }

Task<Result<FileEntry>> stat_with_details(Files files, std::string path, Deadline deadline) {
  StatOptions options;
  options.links = Links::look_at;
  options.with_attributes = true;
  FilePath place = FilePath::anywhere(std::move(path));
  auto entry = co_await files.stat(std::move(place), options, deadline);
  co_return entry;
}

Task<Reply<json::object>> describe_file(FileUse& use, std::string path, Deadline deadline) {
  auto entry = co_await stat_with_details(use.files, path, deadline);
  if (!entry && entry.error().code == ErrorCode::not_found)
    co_return connect::failure(Code::not_found, "path '" + path + "' does not exist");
  if (!entry) co_return std::unexpected(connect::Failure(std::move(entry).error()));
  co_return entry_info(*entry, path, use.names());
}

}  // namespace cloche::dialect::e2b
