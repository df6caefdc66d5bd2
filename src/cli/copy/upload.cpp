#include "cli/copy/upload.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cli/copy/packer.hpp"
#include "cli/copy/remote_path.hpp"
#include "cli/stdio.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/progress.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

constexpr std::chrono::seconds silence{120};

// stdin as a file that has a size: itself where it is one, else a copy without a name.
Task<Result<UniqueFd>> sized_input() {
  struct stat status = {};
  const bool is_file = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  // One of which some was read already has another size than is left.
  if (is_file && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    co_return UniqueFd(::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
  }
  const char* tmp = std::getenv("TMPDIR");
  UniqueFd spool(::open(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!spool) co_return fail_errno("write stdin to a temporary file");
  const auto executor = co_await asio::this_coro::executor;
  Descriptor in = Descriptor::own(executor, STDIN_FILENO);
  std::uint64_t size = 0;
  for (;;) {
    const std::string piece = co_await in.read();
    if (piece.empty()) break;
    size += piece.size();
    if (size > Packer::most_bytes) {
      co_return fail(ErrorCode::limit_reached, "stdin has more than 256 MiB, which is the limit of the service");
    }
    std::string_view rest = piece;
    while (!rest.empty()) {
      const ssize_t n = ::write(spool.get(), rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) co_return fail_errno("write stdin to a temporary file");
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  if (::lseek(spool.get(), 0, SEEK_SET) != 0) co_return fail_errno("read the temporary file");
  co_return spool;
}

// The name of the copy in the workspace; empty if it is merged into the workspace itself.
Task<Result<std::string>> target_name(Service& service, const SessionPlace& place, const CopyArguments& args,
                                      std::string own_name) {
  std::string path = args.remote.path;
  CLOCHE_CO_TRY(const RemoteKind kind, co_await look_at(service, place, path));
  const bool is_directory = kind == RemoteKind::directory || names_directory(path);
  if (kind == RemoteKind::file && names_directory(path)) {
    co_return fail(ErrorCode::invalid_argument, path + " is a file, not a directory");
  }
  if (is_directory && args.local.is_stream()) {
    co_return fail(ErrorCode::invalid_argument, "stdin has no name; give the name of the file, as in SESSION:dir/file");
  }
  co_return is_directory ? joined(path == "." ? "" : path, own_name) : path;
}

Task<Result<Copied>> send(Service& service, const SessionPlace& place, Packer packer, std::string shown) {
  ProgressLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  http::Request request;
  request.method = "POST";
  request.target = place.target() + "/copy";
  request.fields.emplace_back("Content-Type", "application/x-tar");
  request.patience = silence;
  request.source = [&]() -> Task<Result<std::string>> {
    if (line.is_due()) {
      Amount amount;
      amount.done = packer.done();
      amount.total = packer.total();
      line.show(progress_text(shown, amount, std::chrono::steady_clock::now() - start, line.columns()));
    }
    co_return packer.next();
  };
  const http::BodySink none;
  CLOCHE_CO_TRY(const http::Response response, co_await service.send(std::move(request), none, Deadline::never()));
  if (!json::parse_object(response.body))
    co_return fail(ErrorCode::protocol, service.place() + " sent a response that is not JSON");
  Copied copied;
  copied.path = place.session + ":" + shown;
  copied.entries = packer.entries();
  copied.bytes = packer.done();
  copied.left_out = packer.left_out();
  co_return copied;
}

}  // namespace

Task<Result<Copied>> upload(Service& service, CopyArguments args, std::string tenant) {
  // An unreadable source is reported before a session is created for it.
  UniqueFd input;
  if (args.local.is_stream()) {
    CLOCHE_CO_TRY(input, co_await sized_input());
  } else if (::access(args.local.path.c_str(), R_OK) != 0) {
    co_return fail_errno(args.local.path);
  }
  std::string session = *args.remote.session;
  CLOCHE_CO_TRY(const SessionPlace place,
                co_await find_or_make_session(service, std::move(session), std::move(tenant)));
  std::string own_name = args.local.is_stream() ? std::string() : last_name(args.local.path);
  CLOCHE_CO_TRY(const std::string name, co_await target_name(service, place, args, std::move(own_name)));
  auto packer = args.local.is_stream() ? Packer::of_file(std::move(input), name) : Packer::open(args.local.path, name);
  if (!packer) co_return fail(std::move(packer).error());
  std::string shown = name.empty() ? "." : name;
  auto copied = co_await send(service, place, std::move(*packer), std::move(shown));
  if (copied && copied->left_out > 0) {
    std::fprintf(stderr, "cloche: skipped %llu entries that are neither files, directories nor links\n",
                 static_cast<unsigned long long>(copied->left_out));
  }
  co_return copied;
}

}  // namespace cloche::cli
