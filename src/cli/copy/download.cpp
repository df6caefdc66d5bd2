#include "cli/copy/download.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "cli/copy/remote_path.hpp"
#include "cli/copy/unarchive.hpp"
#include "cli/stdio.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/progress.hpp"

namespace cloche::cli {

namespace {

constexpr std::chrono::seconds silence{120};
constexpr Bytes any_size{std::uint64_t{8} << 30};

http::Request request_for(std::string target) {
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.patience = silence;
  request.body_limit = any_size;
  return request;
}

bool is_directory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Task<Result<Copied>> to_stdout(Service& service, const SessionPlace& place, const CopyArguments& args,
                               RemoteKind kind) {
  const auto executor = co_await asio::this_coro::executor;
  Descriptor out = Descriptor::own(executor, STDOUT_FILENO);
  Copied copied;
  copied.to_stdout = true;
  copied.entries = 1;
  http::BodySink sink = [&](std::string_view piece) -> Task<Status> {
    const bool written = co_await out.write(piece);
    copied.bytes += piece.size();
    if (written) co_return Status{};
    copied.stdout_closed = true;
    co_return fail(ErrorCode::cancelled, "stdout was closed");
  };
  const std::string& path = args.remote.path;
  http::Request request = request_for(kind == RemoteKind::file ? file_target(place, path) : copy_target(place, path));
  auto sent = co_await service.send(std::move(request), std::move(sink), Deadline::never());
  if (!sent && !copied.stdout_closed) co_return fail(std::move(sent).error());
  co_return copied;
}

// Where the copy will be on this host.
std::string local_target(const CopyArguments& args, RemoteKind kind) {
  const std::string name = last_name(args.remote.path);
  const std::string& path = args.local.path;
  // `SESSION:dir/.` is what is in it, and the workspace itself has no name.
  const bool has_name = !name.empty() && !(kind == RemoteKind::directory && args.remote.path.ends_with("/."));
  if (!has_name || !(is_directory(path) || names_directory(path))) return path;
  return path == "/" ? "/" + name : joined(path, name);
}

Task<Result<Copied>> to_files(Service& service, const SessionPlace& place, const CopyArguments& args, RemoteKind kind) {
  std::string path = local_target(args, kind);
  auto archive = kind == RemoteKind::file ? Unarchive::into_file(path) : Unarchive::into_directory(path);
  if (!archive) co_return fail(std::move(archive).error());
  Unarchive& into = **archive;
  ProgressLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  http::BodySink sink = [&](std::string_view piece) -> Task<Status> {
    auto taken = into.take(piece);
    if (taken && line.is_due()) {
      Amount amount;
      amount.done = into.bytes();
      // The size of a directory is unknown in advance.
      if (kind == RemoteKind::file) amount.total = into.total();
      line.show(progress_text(path, amount, std::chrono::steady_clock::now() - start, line.columns()));
    }
    co_return taken;
  };
  http::Request request = request_for(copy_target(place, args.remote.path));
  CLOCHE_CO_TRY([[maybe_unused]] const http::Response response,
                co_await service.send(std::move(request), std::move(sink), Deadline::never()));
  CLOCHE_CO_CHECK(into.finish());
  line.clear();
  if (!into.left_out().empty()) {
    std::fprintf(stderr, "cloche: skipped %zu links that lead out of the directory, such as %s\n",
                 into.left_out().size(), printable(into.left_out().front()).c_str());
  }
  Copied copied;
  copied.path = path;
  copied.entries = into.entries();
  copied.bytes = into.bytes();
  copied.left_out = into.left_out().size();
  co_return copied;
}

}  // namespace

Task<Result<Copied>> download(Service& service, CopyArguments args, std::string tenant) {
  std::string session = *args.remote.session;
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_session(service, std::move(session), std::move(tenant)));
  std::string path = args.remote.path;
  CLOCHE_CO_TRY(const RemoteKind kind, co_await look_at(service, place, std::move(path)));
  if (kind == RemoteKind::missing) {
    co_return fail(ErrorCode::not_found, args.remote.path + " does not exist in session " + place.session);
  }
  if (args.local.is_stream()) co_return co_await to_stdout(service, place, args, kind);
  co_return co_await to_files(service, place, args, kind);
}

}  // namespace cloche::cli
