#include "dialect/e2b/envd/entry_info.hpp"

#include <array>
#include <chrono>

#include "core/utc_time.hpp"
#include "core/utf8.hpp"
#include "dialect/e2b/envd/paths.hpp"
#include "sandbox/users.hpp"

namespace cloche::dialect::e2b {

using wire::FileType;

namespace {

std::string name_or_number(const std::map<std::uint32_t, std::string>& names, std::uint32_t id) {
  const auto found = names.find(id);
  return found == names.end() ? std::to_string(id) : found->second;
}

// Empty for what has no type there: a FIFO, a link that leads nowhere.
std::string_view type_name(FileType type) {
  switch (type) {
    case FileType::regular: return "FILE_TYPE_FILE";
    case FileType::directory: return "FILE_TYPE_DIRECTORY";
    case FileType::symlink: return "FILE_TYPE_SYMLINK";
    default: return "";
  }
}

}  // namespace

OwnerNames::OwnerNames(const SandboxSpec& spec) {
  users_[0] = groups_[0] = "root";
  if (const auto own = find_user(spec, "")) {
    users_[own->uid] = own->name;
    groups_[own->gid] = own->name;
  }
}

std::string OwnerNames::user(std::uint32_t uid) const { return name_or_number(users_, uid); }
std::string OwnerNames::group(std::uint32_t gid) const { return name_or_number(groups_, gid); }

std::string go_mode(FileType type, std::uint32_t mode) {
  std::string text;
  switch (type) {
    case FileType::directory: text += 'd'; break;
    case FileType::symlink: text += 'L'; break;
    case FileType::device: text += "Dc"; break;
    case FileType::fifo: text += 'p'; break;
    case FileType::socket: text += 'S'; break;
    default: break;
  }
  if ((mode & 04000) != 0) text += 'u';
  if ((mode & 02000) != 0) text += 'g';
  if ((mode & 01000) != 0) text += 't';
  if (text.empty()) text = "-";
  constexpr std::string_view letters = "rwxrwxrwx";
  for (std::size_t i = 0; i < letters.size(); ++i) text += (mode & (0400U >> i)) != 0 ? letters[i] : '-';
  return text;
}

std::string timestamp_text(std::int64_t since_epoch) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(since_epoch)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  std::string text = to_utc_text(seconds);
  const auto fraction = (time - seconds).count();
  if (fraction == 0) return text;
  std::string digits = std::to_string(fraction);
  digits.insert(0, 9 - digits.size(), '0');
  text.insert(text.size() - 1, "." + digits);
  return text;
}

std::map<std::string, std::string> metadata_of(const wire::FileEntry& entry) {
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : entry.attributes) {
    if (name.starts_with(metadata_prefix)) metadata.emplace(name.substr(metadata_prefix.size()), value);
  }
  return metadata;
}

json::object entry_info(const wire::FileEntry& entry, std::string_view path, const OwnerNames& names) {
  const bool is_link = entry.type == FileType::symlink;
  const std::string_view type = type_name(is_link ? entry.target_type : entry.type);
  const std::uint32_t mode = (is_link ? entry.target_mode : entry.mode) & 0777;
  json::object info;
  info["name"] = to_utf8(name_of_path(path));
  if (!type.empty()) info["type"] = type;
  info["path"] = to_utf8(path);
  if (entry.size != 0) info["size"] = std::to_string(entry.size);
  if (mode != 0) info["mode"] = mode;
  info["permissions"] = go_mode(entry.type, entry.mode);
  info["owner"] = names.user(entry.uid);
  info["group"] = names.group(entry.gid);
  info["modifiedTime"] = timestamp_text(entry.mtime_ns);
  if (is_link) info["symlinkTarget"] = to_utf8(entry.resolved.empty() ? path : std::string_view(entry.resolved));
  const auto metadata = metadata_of(entry);
  if (!metadata.empty()) {
    json::object& all = info["metadata"].emplace_object();
    for (const auto& [name, value] : metadata) all[to_utf8(name)] = to_utf8(value);
  }
  return info;
}

}  // namespace cloche::dialect::e2b
