#include "dialect/e2b/control/log_query.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t most_log_entries = 1000;
constexpr std::array<std::string_view, 4> levels{"debug", "info", "warn", "error"};

std::unexpected<Error> bad_log_query(std::string_view name, std::string_view wanted) {
  return fail(ErrorCode::invalid_argument, "query: " + std::string(name) + " must be " + std::string(wanted));
}

Result<std::optional<std::int64_t>> read_whole(const http::Query& query, std::string_view name) {
  const auto text = query.find(name);
  if (!text || text->empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  // About the year 5000 in milliseconds.
  const bool fits =
      error == std::errc() && end == text->data() + text->size() && number >= 0 && number < 100'000'000'000'000;
  if (!fits) return bad_log_query(name, "a whole number");
  return number;
}

Result<LogQuery> read_common(const http::Query& query, std::string_view from) {
  LogQuery wanted;
  CLOCHE_TRY(const auto start, read_whole(query, from));
  if (start) wanted.from = moment_at(std::chrono::milliseconds(*start));
  CLOCHE_TRY(const auto limit, read_whole(query, "limit"));
  if (limit) wanted.limit = std::min(static_cast<std::size_t>(*limit), most_log_entries);
  return wanted;
}

std::size_t gravity_of(std::string_view level) {
  return static_cast<std::size_t>(std::ranges::find(levels, level) - levels.begin());
}

bool is_wanted(const LogEntry& entry, const LogQuery& query) {
  // Milliseconds are all that a query can say.
  const auto time = std::chrono::floor<std::chrono::milliseconds>(entry.time);
  if (query.from && (query.backward ? time > *query.from : time < *query.from)) return false;
  if (!query.level.empty() && gravity_of(entry.level) < gravity_of(query.level)) return false;
  return query.search.empty() || entry.message.find(query.search) != std::string::npos;
}

}  // namespace

Result<LogQuery> read_old_log_query(const http::Query& query) { return read_common(query, "start"); }

Result<LogQuery> read_log_query(const http::Query& query) {
  CLOCHE_TRY(LogQuery wanted, read_common(query, "cursor"));
  const std::string_view direction = query.find("direction").value_or("forward");
  if (direction != "forward" && direction != "backward") return bad_log_query("direction", "forward or backward");
  wanted.backward = direction == "backward";
  wanted.level = query.find("level").value_or("");
  if (!wanted.level.empty() && gravity_of(wanted.level) == levels.size()) {
    return bad_log_query("level", "debug, info, warn or error");
  }
  wanted.search = query.find("search").value_or("");
  return wanted;
}

std::vector<LogEntry> select(const SandboxLog& log, const LogQuery& query) {
  std::vector<LogEntry> selected;
  for (const LogEntry& entry : log.entries()) {
    if (is_wanted(entry, query)) selected.push_back(entry);
  }
  if (query.backward) std::ranges::reverse(selected);
  if (selected.size() > query.limit) selected.resize(query.limit);
  return selected;
}

}  // namespace cloche::dialect::e2b
