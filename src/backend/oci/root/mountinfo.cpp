#include "backend/oci/root/mountinfo.hpp"

#include <ranges>

namespace cloche::oci {

namespace {

// Space, tab, newline and backslash are written as three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_octal = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      plain += static_cast<char>(((text[i + 1] - '0') << 6) | ((text[i + 2] - '0') << 3) | (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, at)) parts.emplace_back(part.begin(), part.end());
  return parts;
}

std::vector<MountedPlace> parse_mountinfo(std::string_view text) {
  std::vector<MountedPlace> places;
  for (const std::string& line : split(text, '\n')) {
    // 35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
    const auto dash = line.find(" - ");
    if (dash == line.npos) continue;
    const auto before = split(std::string_view(line).substr(0, dash), ' ');
    const auto after = split(std::string_view(line).substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    places.push_back({unescape(before[3]), unescape(before[4]), after[0], after[2]});
  }
  return places;
}

}  // namespace cloche::oci
