#include "cli/stdio.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

namespace cloche::cli {

namespace {

namespace asio = boost::asio;

constexpr std::size_t piece_size = 65536;

bool can_be_waited_for(int fd) {
  struct stat about{};
  return ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || ::isatty(fd) != 0);
}

UniqueFd open_again(int fd) {
  const int access = ::fcntl(fd, F_GETFL) & O_ACCMODE;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd again(can_be_waited_for(fd) ? ::open(path.c_str(), access | O_NOCTTY | O_CLOEXEC) : -1);
  // A socket cannot be opened; a file's position must stay shared.
  if (!again) again.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return again;
}

}  // namespace

Descriptor::Descriptor(const asio::any_io_executor& executor, UniqueFd fd) : fd_(std::move(fd)) {
  if (can_be_waited_for(fd_.get())) stream_.emplace(executor, fd_.release());
}

Descriptor Descriptor::own(const asio::any_io_executor& executor, int fd) { return {executor, open_again(fd)}; }

async::Task<std::string> Descriptor::read() {
  std::string bytes(piece_size, '\0');
  if (stream_) {
    boost::system::error_code error;
    auto token = asio::redirect_error(asio::use_awaitable, error);
    bytes.resize(co_await stream_->async_read_some(asio::buffer(bytes), token));
    if (error == asio::error::operation_aborted) throw boost::system::system_error(error);
    co_return bytes;
  }
  ssize_t n = 0;
  do {
    n = ::read(fd_.get(), bytes.data(), bytes.size());
  } while (n < 0 && errno == EINTR);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  co_return bytes;
}

async::Task<bool> Descriptor::write(std::string_view bytes) {
  if (stream_) {
    boost::system::error_code error;
    auto token = asio::redirect_error(asio::use_awaitable, error);
    co_await asio::async_write(*stream_, asio::buffer(bytes), token);
    if (error == asio::error::operation_aborted) throw boost::system::system_error(error);
    co_return !error;
  }
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) co_return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  co_return true;
}

Descriptor open_input(const asio::any_io_executor& executor, const std::string& file) {
  if (file.empty() && ::isatty(STDIN_FILENO) != 0)
    return {executor, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))};
  if (file.empty() || file == "-") return Descriptor::own(executor, STDIN_FILENO);
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw SandboxNotFoundError("cannot read " + file + ": " + std::strerror(errno));
  struct stat about{};
  if (::fstat(fd.get(), &about) == 0 && S_ISDIR(about.st_mode)) throw SandboxArgumentError(file + " is a directory");
  return {executor, std::move(fd)};
}

}  // namespace cloche::cli
