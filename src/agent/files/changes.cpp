// mark and changes: which files of a tree were made or changed since a moment. Only times are looked at, no content.
//
// The time that counts is that of the inode's last change (ctime), which a program cannot set. The kernel stamps files
// by a coarse clock that lags behind the fine one by up to a tick. A mark is a time of the fine clock, given away only
// when the coarse clock has passed it: whatever was changed before the mark was asked for is not younger than it, and
// whatever is changed after it was given is.
#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <ctime>

#include "agent/files/cancel.hpp"
#include "agent/files/entries.hpp"
#include "agent/files/file_error.hpp"
#include "agent/files/operations.hpp"
#include "agent/files/paths.hpp"
#include "agent/files/reply_batch.hpp"
#include "agent/files/tree_walk.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_cap = 10'000;
constexpr std::uint64_t default_looked_at = 50'000;
// Directories in each other. A tree of the caller's own making may be deeper than anybody would want to look.
constexpr std::size_t deepest = 128;
// A clock that is set back meanwhile does not hold anybody up for longer.
constexpr int most_naps = 500;
constexpr timespec nap{.tv_sec = 0, .tv_nsec = 200'000};

Result<std::int64_t> read_clock(clockid_t clock) {
  timespec now = {};
  if (::clock_gettime(clock, &now) != 0) return fail_errno("read the clock");
  return nanoseconds(now);
}

}  // namespace

Status mark_moment(const wire::FileRequest&, const FileIo& io) {
  CLOCHE_TRY(const std::int64_t moment, read_clock(CLOCK_REALTIME));
  for (int naps = 0; naps < most_naps; ++naps) {
    CLOCHE_TRY(const std::int64_t stamp, read_clock(CLOCK_REALTIME_COARSE));
    if (stamp > moment) break;
    if (cancelled()) return fail_file(ECANCELED);
    ::nanosleep(&nap, nullptr);
  }
  return io.reply({.done = true, .moment_ns = moment});
}

Status find_changes(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, Base::open(request.root));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(UniqueFd directory, base.open(path, open_reading | O_DIRECTORY));
  const std::uint64_t cap = result_cap(request.max_results, default_cap);
  const std::uint64_t may_look_at = result_cap(request.max_entries, default_looked_at);
  ReplyBatch batch(io);
  std::uint64_t looked_at = 0;
  std::uint64_t count = 0;
  std::uint64_t unseen = 0;
  bool cut = false;
  const auto visit = [&](const Found& found) -> Result<Step> {
    if (looked_at == may_look_at) {
      cut = true;
      return Step::stop;
    }
    ++looked_at;
    if (found.type == DT_DIR) {
      if (found.depth < deepest) return Step::descend;
      cut = true;
      return Step::pass;
    }
    if (found.type != DT_REG) return Step::pass;
    auto entry = describe(found.parent, found.name, found.path);
    if (!entry && entry.error() == ENOENT) return Step::pass;
    if (!entry && entry.error() == EACCES) {
      ++unseen;
      return Step::pass;
    }
    if (!entry) return fail_file(entry.error(), found.path);
    // What it was when its name was read may be something else by now.
    if (entry->type != wire::FileType::regular || entry->ctime_ns <= request.since_ns) return Step::pass;
    if (count == cap) {
      cut = true;
      return Step::stop;
    }
    ++count;
    CLOCHE_CHECK(batch.add(std::move(*entry)));
    return Step::pass;
  };
  CLOCHE_TRY(const Walked walked, walk_tree(std::move(directory), {.names_a_directory = may_look_at + 1}, visit));
  return batch.finish({.cut = cut || walked.cut, .files = count, .skipped = walked.skipped + unseen});
}

}  // namespace cloche::agent
