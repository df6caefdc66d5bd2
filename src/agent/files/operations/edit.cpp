// edit: an exact text of a file becomes another one, everywhere it occurs, in one step that is seen whole or not at
// all.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/files/cancel.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/operations/pending_file.hpp"
#include "agent/files/streams.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr std::size_t longest_text = std::size_t{1} << 20;   // of what is replaced, and of what replaces it
constexpr std::size_t largest_file = std::size_t{16} << 20;  // it is held in memory, which the sandbox's programs share
constexpr std::uint64_t largest_result = std::uint64_t{64} << 20;

using wire::EditOutcome;

// Linear in the text, whatever the needle: std::string_view::find is not.
std::size_t find_from(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* found = ::memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Occurrences that do not overlap.
std::uint64_t count_in(std::string_view text, std::string_view needle) {
  std::uint64_t count = 0;
  for (std::size_t at = find_from(text, needle, 0); at != std::string_view::npos;
       at = find_from(text, needle, at + needle.size())) {
    ++count;
  }
  return count;
}

// Whether another occurrence overlaps the first one: then which of them is meant is not clear.
bool has_overlap(std::string_view text, std::string_view needle) {
  return find_from(text, needle, find_from(text, needle, 0) + 1) != std::string_view::npos;
}

std::string with_carriage_returns(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' && !out.ends_with('\r')) out += '\r';
    out += c;
  }
  return out;
}

// A caller who writes lines with LF alone does not find them in a file whose lines end with CR LF.
bool would_match_with_crlf(std::string_view text, std::string_view needle) {
  if (needle.find('\n') == std::string_view::npos) return false;
  return find_from(text, with_carriage_returns(needle), 0) != std::string_view::npos;
}

Result<std::string> read_whole(int file) {
  std::string content;
  std::string buffer(chunk_size, '\0');
  for (;;) {
    const ssize_t got = read_some(file, buffer.data(), buffer.size());
    if (got < 0) return fail_file(static_cast<int>(-got));
    if (got == 0) return content;
    content.append(buffer, 0, static_cast<std::size_t>(got));
    if (content.size() > largest_file) return fail_file(EFBIG);
  }
}

Status check_size(std::uint64_t size) {
  if (size <= largest_file) return {};
  return fail(ErrorCode::limit_reached, "is larger than 16 MiB, the limit for edits");
}

bool is_same_state(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Writes in pieces of some size, however many replacements there are.
class PieceWriter {
 public:
  explicit PieceWriter(int file) : file_(file) {}

  Status add(std::string_view bytes) {
    waiting_ += bytes;
    return waiting_.size() < chunk_size ? Status() : flush();
  }
  Status flush() {
    const int number = write_all(file_, waiting_);
    waiting_.clear();
    if (number != 0) return fail_file(number);
    return {};
  }

 private:
  int file_;
  std::string waiting_;
};

Status write_replaced(int file, std::string_view text, std::string_view old, std::string_view replacement) {
  PieceWriter out(file);
  std::size_t done = 0;
  for (std::size_t at = find_from(text, old, 0); at != std::string_view::npos; at = find_from(text, old, done)) {
    if (cancelled()) return fail_file(ECANCELED);
    CLOCHE_CHECK(out.add(text.substr(done, at - done)));
    CLOCHE_CHECK(out.add(replacement));
    done = at + old.size();
  }
  CLOCHE_CHECK(out.add(text.substr(done)));
  return out.flush();
}

Status check_texts(const wire::FileRequest& request) {
  if (request.pattern.empty()) return fail(ErrorCode::invalid_argument, "the text to replace is empty");
  if (request.pattern.size() > longest_text || request.replacement.size() > longest_text) {
    return fail(ErrorCode::limit_reached, "the old or new text of the edit is longer than 1 MiB");
  }
  return {};
}

// The file that is edited, with its content as it was at one time.
struct Edited {
  UniqueFd file;
  struct stat status = {};
  std::string content;
  bool is_still = true;
};

Result<Edited> open_edited(const Place& place) {
  Edited edited;
  edited.file.reset(::openat(place.parent.get(), place.name.c_str(), open_reading | O_NOFOLLOW));
  if (!edited.file || ::fstat(edited.file.get(), &edited.status) != 0) return fail_file(errno);
  CLOCHE_CHECK(require_regular(edited.status.st_mode));
  CLOCHE_CHECK(require_writable(place.parent.get(), place.name));
  CLOCHE_CHECK(check_size(static_cast<std::uint64_t>(edited.status.st_size)));
  CLOCHE_TRY(edited.content, read_whole(edited.file.get()));
  struct stat after = {};
  if (::fstat(edited.file.get(), &after) != 0) return fail_file(errno);
  edited.is_still =
      is_same_state(edited.status, after) && edited.content.size() == static_cast<std::uint64_t>(after.st_size);
  return edited;
}

Result<wire::FileReply> edit_at(const wire::FileRequest& request, const Place& place) {
  CLOCHE_TRY(const Edited edited, open_edited(place));
  wire::FileReply reply{.done = true};
  const auto end = [&](EditOutcome how) {
    reply.edit = how;
    return reply;
  };
  if (!edited.is_still) return end(EditOutcome::file_changed);
  reply.bytes = edited.content.size();
  reply.files = count_in(edited.content, request.pattern);
  if (reply.files == 0) {
    reply.other_line_ends = would_match_with_crlf(edited.content, request.pattern);
    return end(EditOutcome::no_match);
  }
  if (request.expected == 1 && reply.files == 1 && has_overlap(edited.content, request.pattern)) reply.files = 2;
  if (request.expected != 0 && reply.files != request.expected) return end(EditOutcome::other_count);
  reply.bytes = edited.content.size() - reply.files * request.pattern.size() + reply.files * request.replacement.size();
  if (reply.bytes > largest_result) {
    return fail(ErrorCode::limit_reached, "would become larger than 64 MiB, the limit for edits");
  }
  CLOCHE_TRY(PendingFile file, PendingFile::create(place.parent.get()));
  CLOCHE_CHECK(write_replaced(file.fd(), edited.content, request.pattern, request.replacement));
  if (::fchmod(file.fd(), edited.status.st_mode & 0777) != 0) return fail_file(errno);
  struct stat now = {};
  if (::fstatat(place.parent.get(), place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return fail_file(errno);
  if (!is_same_state(edited.status, now)) return end(EditOutcome::file_changed);
  CLOCHE_CHECK(file.publish(place.name));
  return end(EditOutcome::done);
}

}  // namespace

Status edit_file(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_CHECK(check_texts(request));
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const Place place, base.target(path));
  CLOCHE_TRY(const wire::FileReply reply, edit_at(request, place));
  return io.reply(reply);
}

}  // namespace cloche::agent
