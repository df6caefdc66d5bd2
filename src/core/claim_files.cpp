#include "core/claim_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "core/ids.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

constexpr std::string_view draft_prefix = ".claim-";

std::string claim_line(const std::string& owner, const std::string& holder) { return owner + " " + holder + "\n"; }

Status write_draft(const std::string& path, const std::string& line) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("open " + path);
  if (::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return {};
  const Error error = errno_error("write " + path, errno);
  ::unlink(path.c_str());
  return fail(error);
}

// The claim's line; nullopt if it is gone.
Result<std::optional<std::string>> read_claim(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  if (!fd) return fail_errno("open " + path);
  char line[512];
  const ssize_t n = ::read(fd.get(), line, sizeof line);
  if (n < 0) return fail_errno("read " + path);
  return std::optional(std::string(line, static_cast<std::size_t>(n)));
}

Result<std::vector<std::string>> claim_names(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
  std::vector<std::string> names;
  if (!dir && errno == ENOENT) return names;
  if (!dir) return fail_errno("open " + directory);
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

ClaimFiles::ClaimFiles(std::string directory, std::string owner)
    : directory_(std::move(directory)), owner_(std::move(owner)) {}

Result<std::optional<std::size_t>> ClaimFiles::claim_first(std::size_t count,
                                                           const std::function<std::string(std::size_t)>& name,
                                                           const std::string& holder) const {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno("create directory " + directory_);
  const std::string draft = path_of(std::string(draft_prefix) + random_hex(8));
  CLOCHE_CHECK(write_draft(draft, claim_line(owner_, holder)));
  Result<std::optional<std::size_t>> claimed = std::optional<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    // Of two processes that claim the same name at once, only one can link it.
    if (::link(draft.c_str(), path_of(name(i)).c_str()) == 0) {
      claimed = std::optional(i);
      break;
    }
    if (errno != EEXIST) {
      claimed = fail_errno("claim " + path_of(name(i)));
      break;
    }
  }
  ::unlink(draft.c_str());
  return claimed;
}

Status ClaimFiles::release(const std::string& name, const std::string& holder) const {
  CLOCHE_TRY(const auto line, read_claim(path_of(name)));
  if (!line || *line != claim_line(owner_, holder)) return {};
  if (::unlink(path_of(name).c_str()) != 0 && errno != ENOENT) return fail_errno("release " + path_of(name));
  return {};
}

Result<std::vector<ClaimFiles::Claim>> ClaimFiles::all() const {
  std::vector<Claim> claims;
  CLOCHE_TRY(const auto names, claim_names(directory_));
  for (const std::string& name : names) {
    const auto line = read_claim(path_of(name));
    const auto space = line && *line ? (*line)->find(' ') : std::string::npos;
    if (space == std::string::npos) continue;
    std::string owner = (*line)->substr(0, space);
    if (name.starts_with(draft_prefix)) {
      if (owner == owner_) ::unlink(path_of(name).c_str());
      continue;
    }
    std::string holder = (*line)->substr(space + 1);
    if (holder.ends_with('\n')) holder.pop_back();
    claims.push_back({std::move(owner), name, std::move(holder)});
  }
  return claims;
}

}  // namespace cloche
