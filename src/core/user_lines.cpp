#include "core/user_lines.hpp"

#include <algorithm>
#include <string_view>

#include "cloche/spec.hpp"

namespace cloche {

namespace {

// Removes the first line from the front.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string without_name(std::string_view text, std::string_view name) {
  std::string kept;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.substr(0, line.find(':')) == name) continue;
    kept.append(line).append("\n");
  }
  return kept;
}

// The fields of a line that tell who it is about: name, uid, gid and home.
struct Fields {
  explicit Fields(std::string_view line) {
    std::string_view* const wanted[] = {&name, nullptr, &uid, &gid, nullptr, &home};
    for (std::string_view* field : wanted) {
      const auto end = std::min(line.find(':'), line.size());
      if (field != nullptr) *field = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
  std::string_view name;
  std::string_view uid;
  std::string_view gid;
  std::string_view home;
};

// In /etc/group the third field is the gid.
bool has_gid(std::string_view group, std::string_view gid) {
  while (!group.empty()) {
    if (Fields(take_line(group)).uid == gid) return true;
  }
  return false;
}

}  // namespace

bool knows_user(std::string_view passwd, const SandboxUser& user) {
  while (!passwd.empty()) {
    const Fields line(take_line(passwd));
    if (line.uid != std::to_string(user.uid)) continue;
    return user.name == SandboxSpec().user ||
           (line.name == user.name && line.gid == std::to_string(user.gid) && line.home == user.home);
  }
  return false;
}

std::string passwd_line(const SandboxUser& user) {
  const bool is_plain =
      std::ranges::all_of(user.home, [](unsigned char c) { return c >= ' ' && c != ':' && c != 0x7f; });
  return user.name + ":x:" + std::to_string(user.uid) + ":" + std::to_string(user.gid) + ":" + user.name + ":" +
         (is_plain ? user.home : "/") + ":/bin/sh\n";
}

std::string with_passwd_line(const std::string& passwd, const SandboxUser& user) {
  return passwd_line(user) + without_name(passwd, user.name);
}

std::string with_group_line(const std::string& group, const SandboxUser& user) {
  if (user.name == SandboxSpec().user && has_gid(group, std::to_string(user.gid))) return group;
  return user.name + ":x:" + std::to_string(user.gid) + ":\n" + without_name(group, user.name);
}

}  // namespace cloche
