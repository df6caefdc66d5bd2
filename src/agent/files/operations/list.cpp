// list: what is in a directory, or in the tree below it.
#include <fcntl.h>

#include <cerrno>

#include "agent/files/operations/attributes.hpp"
#include "agent/files/operations/operations.hpp"
#include "agent/files/reply_batch.hpp"
#include "agent/files/tree/entries.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr std::uint64_t default_cap = 10'000;

}  // namespace

Status list_directory(const wire::FileRequest& request, const FileIo& io) {
  CLOCHE_TRY(const Base base, base_of(request));
  CLOCHE_TRY(const CheckedPath path, base.check(request.path));
  CLOCHE_TRY(UniqueFd directory, base.open(path, open_reading | O_DIRECTORY));
  const std::uint64_t cap = result_cap(request.max_results, default_cap);
  const std::string top = path.components.empty() ? std::string() : path.text() + "/";
  ReplyBatch batch(io);
  std::uint64_t count = 0;
  std::uint64_t unseen = 0;
  bool cut = false;
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
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
    const bool is_deep_enough = request.depth != 0 && found.depth + 1 >= request.depth;
    return request.recursive && !is_deep_enough ? WalkStep::descend : WalkStep::pass;
  };
  // One more than the cap, so that a directory of just that many is known to be whole.
  CLOCHE_TRY(const Walked walked,
             walk_tree(std::move(directory), {.names_a_directory = cap + 1, .mounts = mounts_of(request)}, visit));
  return batch.finish({.cut = cut || walked.cut, .files = count, .skipped = walked.skipped + unseen});
}

}  // namespace cloche::agent
