#include "agent/files/tree/resolve.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "agent/files/operations/abilities.hpp"
#include "agent/files/tree/path_walk.hpp"

namespace cloche::agent {

namespace {

// The kernel gives up a confined walk with EAGAIN when something was renamed meanwhile.
constexpr int most_tries = 64;

int open_by_kernel(int base, Links links, const std::string& path, int flags) {
  open_how how = {};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_NO_MAGICLINKS | (links == Links::beneath ? RESOLVE_BENEATH : 0);
  return static_cast<int>(::syscall(SYS_openat2, base, path.empty() ? "." : path.c_str(), &how, sizeof how));
}

struct Split {
  std::string_view directory;
  std::string_view name;
};

std::expected<Split, int> split_last(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return std::unexpected(EINVAL);
  return Split{path.substr(0, slash == std::string_view::npos ? 0 : slash), name};
}

}  // namespace

std::expected<UniqueFd, int> resolve(int base, Links links, const std::string& path, int flags) {
  if (abilities().openat2 && path.size() < PATH_MAX) {
    for (int tries = 0; tries < most_tries; ++tries) {
      if (const int fd = open_by_kernel(base, links, path, flags); fd >= 0) return UniqueFd(fd);
      if (errno != EAGAIN && errno != EINTR) return std::unexpected(errno);
    }
  }
  return walk_path(base, links, path, flags);
}

std::expected<Place, int> resolve_place(int base, Links links, std::string_view path) {
  const auto split = split_last(path);
  if (!split) return std::unexpected(split.error());
  auto parent = resolve(base, links, std::string(split->directory), O_PATH | O_DIRECTORY);
  if (!parent) return std::unexpected(parent.error());
  return Place{std::move(*parent), std::string(split->name)};
}

std::expected<Place, int> resolve_target(int base, Links links, std::string_view path) {
  std::string text(path);
  for (int followed = 0; followed <= most_links; ++followed) {
    const auto split = split_last(text);
    if (!split || text.ends_with('/')) return std::unexpected(EISDIR);
    auto place = resolve_place(base, links, text);
    if (!place) return place;
    const auto target = read_link(place->parent.get(), place->name.c_str());
    if (!target && (target.error() == EINVAL || target.error() == ENOENT)) return place;
    if (!target) return std::unexpected(target.error());
    if (is_procfs(place->parent.get())) return std::unexpected(ELOOP);
    if (target->starts_with('/')) {
      if (links == Links::beneath) return std::unexpected(EXDEV);
      text = target->substr(std::min(target->find_first_not_of('/'), target->size()));
    } else {
      // Not simplified: the directory part may itself lead through links, which `..` must not undo as text.
      text = split->directory.empty() ? *target : std::string(split->directory).append("/").append(*target);
    }
  }
  return std::unexpected(ELOOP);
}

std::expected<std::string, int> read_link(int parent, const char* name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(parent, name, target.data(), target.size());
  if (length < 0) return std::unexpected(errno);
  target.resize(static_cast<std::size_t>(length));
  return target;
}

}  // namespace cloche::agent
