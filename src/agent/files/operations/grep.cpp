// grep: lines that match a regular expression, in a file or in the files below a directory.
#include <dirent.h>
#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "agent/files/operations/line_search.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/streams.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "core/file_error.hpp"
#include "pattern/glob_pattern.hpp"
#include "pattern/path_filter.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_cap = 1'000;
constexpr std::uint32_t most_context_lines = 100;
constexpr std::size_t longest_pattern = std::size_t{16} * 1024;
constexpr std::size_t longest_line = std::size_t{64} * 1024;  // only so much of a line is searched
constexpr std::int64_t expression_memory = std::int64_t{8} * 1024 * 1024;
// A NUL byte in so much of a file's beginning says that it is not text.
constexpr std::size_t looked_at = std::size_t{8} * 1024;

re2::RE2::Options options_of(const wire::FileRequest& request) {
  re2::RE2::Options options;
  options.set_max_mem(expression_memory);
  options.set_log_errors(false);
  options.set_case_sensitive(!request.ignore_case);
  return options;
}

class Grep {
 public:
  Grep(const re2::RE2& expression, const wire::FileRequest& request, const FileIo& io)
      : batch_(io),
        search_(expression, request.context_lines, result_cap(request.max_results, default_cap), matches_, batch_),
        buffer_(chunk_size, '\0') {}

  // Whether to continue with the next file.
  Result<bool> search(int file, const std::string& path) {
    search_.begin(path);
    LineSplitter lines(longest_line);
    bool first = true;
    for (;;) {
      const ssize_t got = read_some(file, buffer_.data(), buffer_.size());
      if (got == -ECANCELED) return fail_file(ECANCELED);
      if (got < 0) {
        ++skipped_;
        return true;
      }
      const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
      if (first && bytes.substr(0, looked_at).find('\0') != std::string_view::npos) {
        ++binary_;
        return true;
      }
      if (first) ++files_;
      first = false;
      const bool go_on = got == 0 ? take_last(lines) : take(lines, bytes);
      if (!search_.status()) return fail(search_.status().error());
      if (!go_on) return false;
      if (got == 0) return true;
    }
  }

  void skip() { ++skipped_; }

  Status finish(const Walked& walked) {
    return batch_.finish({.cut = search_.cut() || walked.cut,
                          .files = files_,
                          .skipped = skipped_ + binary_ + walked.skipped,
                          .binary = binary_});
  }

 private:
  bool take(LineSplitter& lines, std::string_view bytes) {
    while (const auto line = lines.next(bytes)) {
      if (!search_.on_line(*line)) return false;
    }
    return true;
  }
  bool take_last(LineSplitter& lines) {
    const auto line = lines.finish();
    return !line || search_.on_line(*line);
  }

  ReplyBatch batch_;
  std::uint64_t matches_ = 0;
  LineSearch search_;
  std::string buffer_;
  std::uint64_t files_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t binary_ = 0;
};

// Which files below a directory are searched.
struct Wanted {
  std::optional<GlobPattern> filter;
  PathFilter exclude;
  Hidden hidden = Hidden::match;

  bool passes_over(const Found& found) const {
    if (hidden == Hidden::skip && found.name[0] == '.') return true;
    const auto is = found.type == DT_DIR ? GlobPattern::Is::directory : GlobPattern::Is::other;
    return exclude.matches(found.path, found.name, is);
  }
};

Result<Walked> grep_below(UniqueFd directory, const Wanted& wanted, WalkOptions::Mounts mounts, Grep& grep) {
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
    if (wanted.passes_over(found)) return WalkStep::pass;
    if (found.type == DT_DIR) return WalkStep::descend;
    if (found.type != DT_REG) return WalkStep::pass;
    if (wanted.filter && !wanted.filter->matches(found.path) && !wanted.filter->matches(found.name))
      return WalkStep::pass;
    const UniqueFd file(::openat(found.parent, found.name, open_reading | O_NOFOLLOW));
    struct stat status = {};
    if (!file && errno != ENOENT && errno != ELOOP) grep.skip();
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return WalkStep::pass;
    CLOCHE_TRY(const bool go_on, grep.search(file.get(), found.path));
    return go_on ? WalkStep::pass : WalkStep::stop;
  };
  return walk_tree(std::move(directory), {.mounts = mounts}, visit);
}

}  // namespace

Status grep_files(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  if (request.pattern.empty()) return fail(ErrorCode::invalid_argument, "pattern is empty");
  if (request.pattern.size() > longest_pattern) return fail(ErrorCode::invalid_argument, "pattern is too long");
  if (request.context_lines > most_context_lines) {
    return fail(ErrorCode::invalid_argument, "more than " + std::to_string(most_context_lines) + " lines of context");
  }
  const re2::RE2 expression(request.pattern, options_of(request));
  if (!expression.ok()) return fail(ErrorCode::invalid_argument, "pattern: " + shown(expression.error()));
  Wanted wanted{.hidden = request.skip_hidden ? Hidden::skip : Hidden::match};
  CLOCHE_TRY(wanted.exclude, PathFilter::compile(request.exclude, "exclude"));
  if (!request.glob.empty()) {
    auto compiled = GlobPattern::compile(request.glob, Hidden::match);
    if (!compiled) return fail(std::move(compiled).error().at("glob"));
    wanted.filter = std::move(*compiled);
  }
  CLOCHE_TRY(UniqueFd top, base.open(path, open_reading));
  struct stat status = {};
  if (::fstat(top.get(), &status) != 0) return fail_file(errno);
  Grep grep(expression, request, io);
  if (S_ISDIR(status.st_mode)) {
    CLOCHE_TRY(const Walked walked, grep_below(std::move(top), wanted, mounts_of(request), grep));
    return grep.finish(walked);
  }
  CLOCHE_CHECK(require_regular(status.st_mode));
  CLOCHE_CHECK(grep.search(top.get(), path.components.back()));
  return grep.finish({});
}

}  // namespace cloche::agent
