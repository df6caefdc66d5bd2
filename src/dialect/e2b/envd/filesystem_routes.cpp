// filesystem.Filesystem: names and attributes of files; see content_routes.cpp for what is in them.
#include <algorithm>

#include "dialect/e2b/envd/file_use.hpp"
#include "dialect/e2b/envd/paths.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::failure;
using connect::ProtoObject;
using connect::Reply;

namespace {

json::value with_entry(json::object info) {
  json::object reply;
  reply["entry"] = std::move(info);
  return reply;
}

struct PathUse {
  std::unique_ptr<FileUse> use;
  std::string path;
};

// The operation, and the path that the field names.
Task<Reply<PathUse>> begin_with_path(DataCall& call, const ProtoObject& message, std::string_view field) {
  CLOCHE_CO_TRY(const std::string asked, message.text(field));
  CLOCHE_CO_TRY(auto use, co_await begin_file_use(call, call.user));
  CLOCHE_CO_TRY(std::string path, use->resolve(asked));
  co_return PathUse{std::move(use), std::move(path)};
}

Task<Reply<json::value>> stat_path(DataCall& call, const ProtoObject& message, Deadline deadline) {
  CLOCHE_CO_TRY(const PathUse on, co_await begin_with_path(call, message, "path"));
  CLOCHE_CO_TRY(json::object info, co_await describe_file(*on.use, on.path, file_deadline(deadline)));
  co_return with_entry(std::move(info));
}

// What is in the way of a directory.
Task<connect::Failure> why_not_a_directory(FileUse& use, std::string path, Error error, Deadline deadline) {
  FilePath place = FilePath::anywhere(path);
  auto entry = co_await use.files.stat(std::move(place), Links::follow, deadline);
  if (entry && entry->type != FileType::directory)
    co_return connect::Failure(Code::invalid_argument, "path already exists but it is not a directory: " + path);
  co_return connect::Failure(std::move(error));
}

Task<Reply<json::value>> make_directory(DataCall& call, const ProtoObject& message, Deadline asked) {
  const Deadline deadline = file_deadline(asked);
  CLOCHE_CO_TRY(const PathUse on, co_await begin_with_path(call, message, "path"));
  FilePath place = FilePath::anywhere(on.path);
  const DirectoryOptions options;
  auto made = co_await on.use->files.make_directory(std::move(place), options, deadline);
  if (!made) {
    connect::Failure why = co_await why_not_a_directory(*on.use, on.path, std::move(made).error(), deadline);
    co_return std::unexpected(std::move(why));
  }
  if (*made == 0) co_return failure(Code::already_exists, "directory already exists: " + on.path);
  CLOCHE_CO_TRY(json::object info, co_await describe_file(*on.use, on.path, deadline));
  co_return with_entry(std::move(info));
}

Task<Reply<json::value>> move_path(DataCall& call, const ProtoObject& message, Deadline asked) {
  const Deadline deadline = file_deadline(asked);
  CLOCHE_CO_TRY(const PathUse from, co_await begin_with_path(call, message, "source"));
  CLOCHE_CO_TRY(const std::string wanted, message.text("destination"));
  CLOCHE_CO_TRY(const std::string to, from.use->resolve(wanted));
  MoveOptions options;
  options.parents = MoveOptions::Parents::make;
  FilePath source = FilePath::anywhere(from.path);
  FilePath destination = FilePath::anywhere(to);
  auto moved = co_await from.use->files.move(std::move(source), std::move(destination), options, deadline);
  if (!moved && moved.error().code == ErrorCode::not_found)
    co_return failure(Code::not_found, "source file not found: '" + from.path + "' does not exist");
  if (!moved) co_return std::unexpected(connect::Failure(std::move(moved).error()));
  CLOCHE_CO_TRY(json::object info, co_await describe_file(*from.use, to, deadline));
  co_return with_entry(std::move(info));
}

// As a walk in the order of names meets them: a directory, then what is in it.
bool comes_before(const FileEntry& a, const FileEntry& b) {
  const auto key = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  return std::ranges::lexicographical_compare(a.path, b.path, {}, key, key);
}

Task<connect::Failure> why_not_listed(FileUse& use, std::string path, Error error, Deadline deadline) {
  FilePath place = FilePath::anywhere(path);
  auto entry = co_await use.files.stat(std::move(place), Links::follow, deadline);
  if (entry && entry->type != FileType::directory)
    co_return connect::Failure(Code::invalid_argument, "path is not a directory: " + path);
  if (error.code == ErrorCode::not_found)
    co_return connect::Failure(Code::not_found, "directory not found: path '" + path + "' does not exist");
  co_return connect::Failure(std::move(error));
}

Task<Reply<json::value>> list_directory(DataCall& call, const ProtoObject& message, Deadline asked) {
  const Deadline deadline = file_deadline(asked);
  CLOCHE_CO_TRY(const std::uint32_t depth, message.uint32("depth"));
  CLOCHE_CO_TRY(const PathUse on, co_await begin_with_path(call, message, "path"));
  ListOptions options;
  options.with_attributes = true;
  options.depth = depth;
  if (depth > 1) options.recursion = Recursion::whole_tree;
  FilePath place = FilePath::anywhere(on.path);
  auto found = co_await on.use->files.list(std::move(place), options, deadline);
  if (!found) {
    connect::Failure why = co_await why_not_listed(*on.use, on.path, std::move(found).error(), deadline);
    co_return std::unexpected(std::move(why));
  }
  if (found->cut) {
    co_return failure(Code::resource_exhausted,
                      "the directory has more than " + std::to_string(found->entries.size()) + " entries: " + on.path);
  }
  std::ranges::sort(found->entries, comes_before);
  const std::string prefix = on.path == "/" ? on.path : on.path + "/";
  const OwnerNames names = on.use->names();
  json::object reply;
  if (!found->entries.empty()) {
    json::array& all = reply["entries"].emplace_array();
    all.reserve(found->entries.size());
    for (const FileEntry& entry : found->entries) all.emplace_back(entry_info(entry, prefix + entry.path, names));
  }
  co_return json::value(std::move(reply));
}

Task<Reply<json::value>> remove_path(DataCall& call, const ProtoObject& message, Deadline asked) {
  CLOCHE_CO_TRY(const PathUse on, co_await begin_with_path(call, message, "path"));
  FilePath place = FilePath::anywhere(on.path);
  auto removed =
      co_await on.use->files.remove(std::move(place), Recursion::whole_tree, Missing::fine, file_deadline(asked));
  if (!removed) co_return std::unexpected(connect::Failure(std::move(removed).error()));
  co_return json::value(json::object());
}

}  // namespace

void add_filesystem_routes(EnvdRouter& router) {
  add_unary(router, "/filesystem.Filesystem/Stat", stat_path);
  add_unary(router, "/filesystem.Filesystem/MakeDir", make_directory);
  add_unary(router, "/filesystem.Filesystem/Move", move_path);
  add_unary(router, "/filesystem.Filesystem/ListDir", list_directory);
  add_unary(router, "/filesystem.Filesystem/Remove", remove_path);
}

}  // namespace cloche::dialect::e2b
