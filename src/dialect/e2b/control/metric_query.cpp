#include "dialect/e2b/control/metric_query.hpp"

#include <charconv>

namespace cloche::dialect::e2b {

namespace {

constexpr std::chrono::seconds sample_span{5};
// About the year 5000.
constexpr std::int64_t latest_second = 100'000'000'000;

Result<std::optional<Moment>> read_second(const http::Query& query, std::string_view name) {
  const auto text = query.find(name);
  if (!text || text->empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool fits = error == std::errc() && end == text->data() + text->size() && number >= 0 && number < latest_second;
  if (!fits) {
    return fail(ErrorCode::invalid_argument, "query: " + std::string(name) + " must be a time in seconds since 1970");
  }
  return moment_at(std::chrono::seconds(number));
}

}  // namespace

bool MetricQuery::has(Moment sample) const {
  return !(start && sample < *start) && !(end && sample - sample_span > *end);
}

Result<MetricQuery> read_metric_query(const http::Query& query) {
  MetricQuery wanted;
  CLOCHE_TRY(wanted.start, read_second(query, "start"));
  CLOCHE_TRY(wanted.end, read_second(query, "end"));
  if (wanted.start && wanted.end && *wanted.end < *wanted.start) {
    return fail(ErrorCode::invalid_argument, "query: end must not be before start");
  }
  return wanted;
}

}  // namespace cloche::dialect::e2b
