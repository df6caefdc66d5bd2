// mark and changes: which files of a tree were created or changed since a moment. Only times are compared, not
// contents.
#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "agent/files/cancel.hpp"
#include "agent/files/moment.hpp"
#include "agent/files/operations/change_rules.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/reply_batch.hpp"
#include "agent/files/tree/entries.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_cap = 10'000;
constexpr std::uint64_t default_looked_at = 50'000;
// Nesting of directories. A caller can create a tree that is deeper than is reasonable to scan.
constexpr std::size_t deepest = 128;
constexpr timespec nap{.tv_sec = 0, .tv_nsec = 500'000};

Status discard(const std::string& path) {
  CLOCHE_TRY(const Base base, Base::open({}));
  CLOCHE_TRY(const CheckedPath checked, base.check(path));
  auto place = base.place(checked);
  if (!place && place.error().code == ErrorCode::not_found) return {};
  if (!place) return fail(std::move(place).error());
  const Removal removal = remove_tree(place->parent.get(), place->name, WhenCancelled::stop);
  if (removal.failed > 0) return fail(removal.first_failure);
  return {};
}

}  // namespace

Status mark_moment(const wire::FileRequest&, const FileIo& io) {
  const Moment moment;
  while (!moment.has_passed()) {
    if (cancelled()) return fail_file(ECANCELED);
    ::nanosleep(&nap, nullptr);
  }
  return io.reply({.done = true, .moment_ns = moment.nanoseconds()});
}

Status find_changes(const wire::FileRequest& request, const FileIo& io) {
  if (!request.discard.empty()) CLOCHE_CHECK(discard(request.discard));
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(UniqueFd directory, base.open(path, open_reading | O_DIRECTORY));
  CLOCHE_TRY(const ChangeRules rules, ChangeRules::of(request));
  const std::uint64_t cap = result_cap(request.max_results, default_cap);
  const std::uint64_t may_look_at = result_cap(request.max_entries, default_looked_at);
  ReplyBatch batch(io);
  std::uint64_t looked_at = 0;
  std::uint64_t count = 0;
  std::uint64_t unseen = 0;
  std::uint64_t ignored = 0;
  bool cut = false;
  std::int64_t newest = 0;
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
    if (looked_at == may_look_at) {
      cut = true;
      return WalkStep::stop;
    }
    ++looked_at;
    if (rules.pass_over(found)) {
      const auto about = describe(found.parent, found.name, {});
      if (about && about->ctime_ns > request.since_ns) ++ignored;
      return WalkStep::pass;
    }
    if (found.type == DT_DIR) {
      if (found.depth < deepest) return WalkStep::descend;
      cut = true;
      return WalkStep::pass;
    }
    if (found.type != DT_REG || !rules.wants(found)) return WalkStep::pass;
    auto entry = describe(found.parent, found.name, found.path);
    if (!entry && entry.error() == ENOENT) return WalkStep::pass;
    if (!entry && entry.error() == EACCES) {
      ++unseen;
      return WalkStep::pass;
    }
    if (!entry) return fail_file(entry.error(), found.path);
    // It may have been replaced since its name was read.
    if (entry->type != wire::FileType::regular) return WalkStep::pass;
    newest = std::max(newest, entry->ctime_ns);
    if (entry->ctime_ns <= request.since_ns) return WalkStep::pass;
    if (count == cap) {
      cut = true;
      return WalkStep::stop;
    }
    ++count;
    CLOCHE_CHECK(batch.add(std::move(*entry)));
    return WalkStep::pass;
  };
  // Files first: what a caller is interested in is seldom at the bottom of a tree, where the limits may end the walk.
  CLOCHE_TRY(const Walked walked,
             walk_tree(std::move(directory),
                       {.names_a_directory = may_look_at + 1, .order = WalkOptions::Order::files_first}, visit));
  const std::uint64_t skipped = walked.skipped + unseen;
  cut = cut || walked.cut;
  return batch.finish({.cut = cut,
                       .files = count,
                       .skipped = skipped,
                       .moment_ns = cut || skipped > 0 ? 0 : std::max(newest, std::int64_t{1}),
                       .ignored = ignored});
}

}  // namespace cloche::agent
