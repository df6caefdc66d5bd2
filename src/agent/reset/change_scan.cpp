#include "agent/reset/change_scan.hpp"

#include <dirent.h>
#include <fcntl.h>

#include "agent/files/file_request.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "agent/identity.hpp"

namespace cloche::agent {

namespace {

// Names in both trees. A system call for each, or little more.
constexpr std::uint64_t most_names = 256;

// False also if this is unknown.
bool is_small(const std::string& path) {
  const auto base = Base::open({});
  if (!base) return false;
  const auto checked = base->check(path);
  if (!checked) return false;
  auto directory = base->open(*checked, open_reading | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) return false;
  std::uint64_t names = 0;
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
    if (++names > most_names) return WalkStep::stop;
    return found.type == DT_DIR ? WalkStep::descend : WalkStep::pass;
  };
  const auto walked = walk_tree(std::move(*directory), {.names_a_directory = most_names + 1}, visit);
  return walked && !walked->cut && walked->skipped == 0 && names <= most_names;
}

std::optional<std::vector<wire::FileReply>> scan_with_rights(const wire::FileRequest& request) {
  const auto rights = UserFileAccess::of(request.uid, request.gid);
  if (!rights) return std::nullopt;
  if (!request.discard.empty() && !is_small(request.discard)) return std::nullopt;
  wire::FileRequest small = request;
  small.max_entries = most_names;
  std::vector<wire::FileReply> replies;
  const FileIo io{.reply = [&](const wire::FileReply& reply) -> Status {
    replies.push_back(reply);
    return {};
  }};
  if (!do_file_request(small, io) || replies.empty() || replies.back().cut) return std::nullopt;
  return replies;
}

}  // namespace

std::string place_of(const wire::FileRequest& request) {
  std::string place = request.root + '\0' + request.path + '\0' + (request.ignore_usual ? 'i' : 'a');
  for (const std::string& each : request.exclude) place.append(1, '\0').append("-").append(each);
  for (const std::string& each : request.include) place.append(1, '\0').append("+").append(each);
  return place;
}

std::optional<std::vector<wire::FileReply>> scan_changes_inline(const wire::FileRequest& request,
                                                                WriterTracker& writers) {
  auto scan = writers.begin_scan(place_of(request));
  if (!scan) return std::nullopt;
  auto replies = scan_with_rights(request);
  if (replies && replies->back().moment_ns != 0) writers.end_scan(std::move(*scan), replies->back().moment_ns);
  return replies;
}

}  // namespace cloche::agent
