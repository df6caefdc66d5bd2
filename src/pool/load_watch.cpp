#include "pool/load_watch.hpp"

namespace cloche::pool {

namespace {

constexpr double moderate_at = 70;
constexpr double high_at = 90;
constexpr double falls_below_by = 5;

}  // namespace

std::optional<Load> LoadWatch::update(std::uint64_t wanted, std::uint64_t limit) {
  const double percent = limit == 0 ? 0 : 100.0 * static_cast<double>(wanted) / static_cast<double>(limit);
  const auto bound = [&](Load load, double at) { return load_ >= load ? at - falls_below_by : at; };
  Load now = Load::normal;
  if (percent >= bound(Load::moderate, moderate_at)) now = Load::moderate;
  if (percent >= bound(Load::high, high_at)) now = Load::high;
  if (now == load_) return std::nullopt;
  load_ = now;
  return now;
}

}  // namespace cloche::pool
