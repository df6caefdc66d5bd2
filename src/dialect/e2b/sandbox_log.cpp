#include "dialect/e2b/sandbox_log.hpp"

#include "core/utf8.hpp"

namespace cloche::dialect::e2b {

namespace {

std::string cut(std::string text) {
  if (text.size() > SandboxLog::most_bytes) {
    text.resize(SandboxLog::most_bytes);
    text.resize(text.size() - incomplete_tail(text));
  }
  return to_utf8(text);
}

}  // namespace

void SandboxLog::add(std::string level, std::string message, std::map<std::string, std::string> fields) {
  LogEntry entry;
  entry.time = std::chrono::system_clock::now();
  entry.level = std::move(level);
  entry.message = cut(std::move(message));
  for (auto& [name, value] : fields) entry.fields.emplace(name, cut(std::move(value)));
  if (entries_.size() == most_entries) entries_.pop_front();
  entries_.push_back(std::move(entry));
}

}  // namespace cloche::dialect::e2b
