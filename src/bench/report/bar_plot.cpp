// Bars that lie, one below the other, so that their names can be read; always over a linear axis from zero, since the
// length of a bar says nothing on another.
#include <algorithm>

#include "bench/report/plot.hpp"
#include "bench/report/svg.hpp"

namespace cloche::bench {

namespace {

constexpr double plot_width = 720;
constexpr double left = 250;
constexpr double right = 90;
constexpr double top = 44;
constexpr double bottom = 56;
constexpr double pitch = 26;
constexpr double thickness = 16;

}  // namespace

std::string draw(const BarPlot& plot) {
  const double height = top + pitch * static_cast<double>(plot.bars.size()) + bottom;
  double most = 0;
  for (const Bar& bar : plot.bars) most = std::max({most, bar.value, bar.high});
  const auto marks = ticks(0, most, Scale::linear);
  const auto place = [&](double value) { return left + value / marks.back() * (plot_width - left - right); };

  Svg svg(plot_width, height, plot.title);
  for (const double mark : marks) {
    svg.line(place(mark), top, place(mark), height - bottom, "grid");
    svg.text(place(mark), height - bottom + 18, number_text(mark), Anchor::middle, "small");
  }
  svg.text((left + plot_width - right) / 2, height - 14, plot.label, Anchor::middle, "small");
  double y = top + (pitch - thickness) / 2;
  for (const Bar& bar : plot.bars) {
    const double middle = y + thickness / 2;
    svg.text(left - 10, middle + 4, bar.name, Anchor::end, "");
    svg.box(left, y, std::max(place(bar.value) - left, 1.0), thickness, bar.ours ? "ours" : "other");
    if (bar.high > bar.low) svg.line(place(bar.low), middle, place(bar.high), middle, "whisker");
    svg.text(place(std::max(bar.value, bar.high)) + 8, middle + 4, number_text(bar.value), Anchor::start, "small");
    y += pitch;
  }
  return std::move(svg).finish();
}

}  // namespace cloche::bench
