#include "agent/files/operations/attributes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "agent/files/tree/entries.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

constexpr std::string_view user_prefix = "user.";
constexpr std::size_t longest_name = 255;  // the kernel's
// All names that a file has: more than the attributes that are told, because those of other kinds are among them.
constexpr std::size_t most_name_list = 64 * 1024;

// Calls on extended attributes need a path or a descriptor that is open for more than its place.
std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

}  // namespace

Status check_attributes(const wire::TextMap& attributes) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : attributes) {
    const bool is_valid = name.starts_with(user_prefix) && name.size() > user_prefix.size() &&
                          name.size() <= longest_name && name.find('\0') == name.npos;
    if (!is_valid) {
      return fail(ErrorCode::invalid_argument,
                  shown(name) + ": the name of an extended attribute must be user. and 1 to 250 bytes without NUL");
    }
    bytes += name.size() + value.size();
  }
  if (attributes.size() <= wire::most_attributes && bytes <= wire::most_attribute_bytes) return {};
  return fail(ErrorCode::limit_reached, "a file can have at most " + std::to_string(wire::most_attributes) +
                                            " extended attributes and " + std::to_string(wire::most_attribute_bytes) +
                                            " bytes in all their names and values");
}

Status set_attributes(int file, const wire::TextMap& attributes) {
  for (const auto& [name, value] : attributes) {
    if (::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS)
      return fail(ErrorCode::unsupported, "the file system has no extended attributes");
    return fail_file(errno, name);
  }
  return {};
}

wire::TextMap read_attributes(int file) {
  const std::string path = path_of(file);
  std::string names(most_name_list, '\0');
  const ssize_t size = ::listxattr(path.c_str(), names.data(), names.size());
  if (size <= 0) return {};
  names.resize(static_cast<std::size_t>(size));
  wire::TextMap attributes;
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < names.size();) {
    const std::string name(names.c_str() + at);
    at += name.size() + 1;
    if (!name.starts_with(user_prefix)) continue;
    std::string value(wire::most_attribute_bytes, '\0');
    const ssize_t length = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (length < 0 && errno != ERANGE) continue;  // not for this user, or removed meanwhile
    if (length < 0) return {};
    value.resize(static_cast<std::size_t>(length));
    bytes += name.size() + value.size();
    if (attributes.size() == wire::most_attributes || bytes > wire::most_attribute_bytes) return {};
    attributes.emplace(name, std::move(value));
  }
  return attributes;
}

void add_details(const Base& base, int parent, const char* name, const std::string& path, wire::FileEntry& entry) {
  if (entry.type == wire::FileType::regular || entry.type == wire::FileType::directory) {
    const UniqueFd file(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (file) entry.attributes = read_attributes(file.get());
  }
  if (entry.type != wire::FileType::symlink) return;
  const auto target = resolve(base.fd(), base.links(), path, O_PATH);
  struct stat about = {};
  if (!target || !base.admit(target->get()) || ::fstat(target->get(), &about) != 0) return;
  auto leads_to = read_link(AT_FDCWD, path_of(target->get()).c_str());
  if (!leads_to || !leads_to->starts_with('/')) return;
  const wire::FileEntry found = entry_of(about, {});
  entry.resolved = std::move(*leads_to);
  entry.target_type = found.type;
  entry.target_mode = found.mode;
}

}  // namespace cloche::agent
