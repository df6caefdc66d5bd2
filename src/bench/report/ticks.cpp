#include <algorithm>
#include <cmath>

#include "bench/report/plot.hpp"

namespace cloche::bench {

namespace {

// 1, 2 or 5 times a power of ten, so that about five of it make the span.
double step_for(double span) {
  const double raw = span / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(double least, double most) {
  const double step = step_for(most > least ? most - least : std::max(std::abs(most), 1.0));
  std::vector<double> all;
  const double first = std::floor(least / step);
  for (double i = first; all.size() < 2 || (i - 1) * step < most - step * 1e-9; ++i) all.push_back(i * step);
  return all;
}

// Powers of ten; over a few of them also their doubles and fivefolds, so that little of the axis stays empty.
std::vector<double> logarithmic_ticks(double least, double most) {
  constexpr double few = 3.5;
  const std::vector<double> factors =
      most / least < std::pow(10, few) ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
  std::vector<double> all;
  for (double power = std::pow(10, std::floor(std::log10(least))); all.size() < 2 || all.back() < most; power *= 10) {
    for (const double factor : factors) {
      const double tick = factor * power;
      if (!all.empty() && all.size() >= 2 && all.back() >= most) break;
      if (!all.empty() && tick <= least) all.clear();  // one below is enough
      all.push_back(tick);
    }
  }
  return all;
}

}  // namespace

std::vector<double> ticks(double least, double most, Scale scale) {
  return scale == Scale::linear ? linear_ticks(least, most) : logarithmic_ticks(least, most);
}

std::string number_text(double value) {
  const double size = std::abs(value);
  const int decimals = size == 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  std::string text = buffer;
  if (text.find('.') != std::string::npos) {
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
  }
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  if (decimals == 0) {
    for (std::size_t at = text.size(); at > first_digit + 3;) text.insert(at -= 3, ",");
  }
  return text;
}

}  // namespace cloche::bench
