#include "sandbox/agent_log.hpp"

#include <algorithm>
#include <utility>

namespace cloche {

namespace {

constexpr std::size_t longest_line = 300;
constexpr int lines_a_minute = 20;

}  // namespace

std::vector<std::string> AgentLog::take(std::string_view bytes, Clock::time_point now) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    line_ += part.substr(0, longest_line - std::min(longest_line, line_.size()));
    if (end == bytes.npos) break;
    bytes.remove_prefix(end + 1);
    if (auto line = finish_line(now)) lines.push_back(std::move(*line));
  }
  return lines;
}

std::optional<std::string> AgentLog::finish_line(Clock::time_point now) {
  std::string line = std::exchange(line_, {});
  if (line.empty()) return std::nullopt;
  if (now - minute_ >= std::chrono::minutes(1)) {
    minute_ = now;
    lines_ = 0;
  }
  if (++lines_ > lines_a_minute) {
    ++dropped_;
    return std::nullopt;
  }
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  const int dropped = std::exchange(dropped_, 0);
  return dropped == 0 ? line : line + " (" + std::to_string(dropped) + " earlier lines omitted)";
}

}  // namespace cloche
