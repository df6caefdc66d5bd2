// glob: files below a directory whose paths match a pattern.
#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "agent/files/operations/attributes.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/reply_batch.hpp"
#include "agent/files/tree/entries.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "core/file_error.hpp"
#include "pattern/glob_pattern.hpp"
#include "pattern/path_filter.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_cap = 10'000;

// A file in the place of a directory: it is found itself, where the pattern matches its name.
Status glob_one(const wire::FileRequest& request, const GlobPattern& pattern, const PathFilter& exclude,
                const CheckedPath& path, int file, const FileIo& io) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return fail_file(errno);
  const std::string& name = path.components.back();
  wire::FileReply reply{.done = true};
  if (pattern.matches(name) && !exclude.matches(name, name, GlobPattern::Is::other)) {
    reply.entries.push_back(entry_of(status, name));
    if (request.details) reply.entries.back().attributes = read_attributes(file);
    reply.files = 1;
  }
  return io.reply(reply);
}

}  // namespace

Status glob_files(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(const GlobPattern pattern,
             GlobPattern::compile(request.pattern, request.hidden ? Hidden::match : Hidden::skip));
  CLOCHE_TRY(const PathFilter exclude, PathFilter::compile(request.exclude, "exclude"));
  CLOCHE_TRY(const UniqueFd found_at, base.open(path, O_PATH));
  struct stat status = {};
  if (::fstat(found_at.get(), &status) != 0) return fail_file(errno);
  if (!S_ISDIR(status.st_mode)) return glob_one(request, pattern, exclude, path, found_at.get(), io);
  CLOCHE_TRY(UniqueFd directory, base.open(path, open_reading | O_DIRECTORY));
  const std::uint64_t cap = result_cap(request.max_results, default_cap);
  const std::string top = path.components.empty() ? std::string() : path.text() + "/";
  ReplyBatch batch(io);
  std::uint64_t count = 0;
  std::uint64_t unseen = 0;
  bool cut = false;
  // For each directory on the path, the remaining pattern in it.
  std::vector<GlobPattern::States> way{pattern.start()};
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
    way.resize(found.depth + 1);
    GlobPattern::States states = pattern.step(way.back(), found.name);
    const auto is = found.type == DT_DIR ? GlobPattern::Is::directory : GlobPattern::Is::other;
    if (exclude.matches(found.path, found.name, is)) return WalkStep::pass;
    if (pattern.accepts(states, is)) {
      auto entry = describe(found.parent, found.name, found.path);
      if (!entry && entry.error() == ENOENT) return WalkStep::pass;
      if (!entry && entry.error() == EACCES) {
        ++unseen;  // the directory shows its names, but not what they are
        return WalkStep::pass;
      }
      if (!entry) return fail_file(entry.error(), found.path);
      if (count == cap) {
        cut = true;
        return WalkStep::stop;
      }
      ++count;
      if (request.details) add_details(base, found.parent, found.name, top + found.path, *entry);
      CLOCHE_CHECK(batch.add(std::move(*entry)));
    }
    if (!pattern.goes_on(states)) return WalkStep::pass;
    way.push_back(std::move(states));
    return WalkStep::descend;
  };
  CLOCHE_TRY(const Walked walked, walk_tree(std::move(directory), {.mounts = mounts_of(request)}, visit));
  return batch.finish({.cut = cut || walked.cut, .files = count, .skipped = walked.skipped + unseen});
}

}  // namespace cloche::agent
