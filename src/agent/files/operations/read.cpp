// read: a range of a regular file, and its size first.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "agent/files/operations/operations.hpp"
#include "agent/files/streams.hpp"
#include "agent/files/tree/paths.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

Status read_file(const wire::FileRequest& request, const FileIo& io) {
  constexpr std::uint64_t furthest = std::numeric_limits<off_t>::max();
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  if (request.offset > furthest || request.length > furthest - request.offset) {
    return fail(ErrorCode::invalid_argument, "offset plus length is too large");
  }
  CLOCHE_TRY(const UniqueFd file, base.open(path, open_reading));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail_file(errno);
  CLOCHE_CHECK(require_regular(status.st_mode));
  const auto total_size = static_cast<std::uint64_t>(status.st_size);
  CLOCHE_CHECK(io.reply({.total_size = total_size}));

  std::string buffer(chunk_size, '\0');
  std::uint64_t at = request.offset;
  const std::uint64_t end = request.length == 0 ? furthest : request.offset + request.length;
  while (at < end) {
    const auto wanted = std::min<std::uint64_t>(buffer.size(), end - at);
    const ssize_t got = read_some_at(file.get(), buffer.data(), wanted, static_cast<off_t>(at));
    if (got < 0) return fail_file(static_cast<int>(-got));
    if (got == 0) break;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (const int number = write_all(io.out, piece); number != 0) return fail_file(number, "the requested content");
    at += piece.size();
  }
  return io.reply({.done = true, .bytes = at - request.offset, .total_size = total_size});
}

}  // namespace cloche::agent
