// Lines over two axes, each linear or logarithmic, with the lines' names beside their ends' colours.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/report/plot.hpp"
#include "bench/report/svg.hpp"

namespace cloche::bench {

namespace {

constexpr double width = 720;
constexpr double height = 380;
constexpr double left = 76;
constexpr double right = 24;
constexpr double top = 44;
constexpr double bottom = 78;
constexpr double legend_pitch = 20;
constexpr int colours = 5;

// From values to positions on the page.
class Ruler {
 public:
  Ruler(double least, double most, Scale scale, double from, double to)
      : scale_(scale), ticks_(ticks(least, most, scale)), from_(from), to_(to) {}

  const std::vector<double>& marks() const { return ticks_; }
  bool can_show(double value) const { return scale_ == Scale::linear || value > 0; }
  double place(double value) const {
    const double share = (grow(value) - grow(ticks_.front())) / (grow(ticks_.back()) - grow(ticks_.front()));
    return from_ + share * (to_ - from_);
  }

 private:
  double grow(double value) const { return scale_ == Scale::linear ? value : std::log10(value); }

  Scale scale_;
  std::vector<double> ticks_;
  double from_;
  double to_;
};

Ruler ruler_for(const LinePlot& plot, const Axis& axis, bool is_x) {
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  for (const Line& line : plot.lines) {
    for (const auto& [x, y] : line.points) {
      const double value = is_x ? x : y;
      if (axis.scale == Scale::logarithmic && value <= 0) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  if (least > most) least = most = 1;
  if (axis.scale == Scale::linear) least = std::min(least, 0.0);
  return is_x ? Ruler(least, most, axis.scale, left, width - right)
              : Ruler(least, most, axis.scale, height - bottom, top);
}

void draw_axes(Svg& svg, const LinePlot& plot, const Ruler& x, const Ruler& y) {
  for (const double mark : y.marks()) {
    svg.line(left, y.place(mark), width - right, y.place(mark), "grid");
    svg.text(left - 8, y.place(mark) + 4, number_text(mark), Anchor::end, "small");
  }
  for (const double mark : x.marks()) {
    svg.line(x.place(mark), height - bottom, x.place(mark), height - bottom + 5, "axis");
    svg.text(x.place(mark), height - bottom + 20, number_text(mark), Anchor::middle, "small");
  }
  svg.line(left, height - bottom, width - right, height - bottom, "axis");
  svg.text((left + width - right) / 2, height - bottom + 40, plot.x.label, Anchor::middle, "small");
  svg.upright_text(20, (top + height - bottom) / 2, plot.y.label);
}

void draw_line(Svg& svg, const Line& line, std::size_t number, const Ruler& x, const Ruler& y) {
  const std::string colour = std::to_string(number % colours);
  std::string steps;
  for (const auto& [at, value] : line.points) {
    if (!x.can_show(at) || !y.can_show(value)) continue;
    steps += (steps.empty() ? "M" : "L") + coordinate(x.place(at)) + " " + coordinate(y.place(value));
  }
  if (steps.empty()) return;
  svg.path(steps, "line l" + colour);
  for (const auto& [at, value] : line.points) {
    if (x.can_show(at) && y.can_show(value)) svg.dot(x.place(at), y.place(value), "d" + colour);
  }
}

// Where each name begins, and in which row: as many in a row as fit.
std::vector<std::pair<double, double>> lay_out_legend(const std::vector<Line>& lines) {
  constexpr double character = 6.8;  // about, in this size
  std::vector<std::pair<double, double>> places;
  double place = left;
  double row = 0;
  for (const Line& line : lines) {
    const double needs = 34 + character * static_cast<double>(line.name.size());
    if (place > left && place + needs > width) {
      place = left;
      ++row;
    }
    places.emplace_back(place, row);
    place += needs;
  }
  return places;
}

}  // namespace

std::string draw(const LinePlot& plot) {
  const auto legend = lay_out_legend(plot.lines);
  const double rows = legend.empty() ? 0 : legend.back().second;
  Svg svg(width, height + rows * legend_pitch, plot.title);
  const Ruler x = ruler_for(plot, plot.x, true);
  const Ruler y = ruler_for(plot, plot.y, false);
  draw_axes(svg, plot, x, y);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    draw_line(svg, plot.lines[i], i, x, y);
    const auto [place, row] = legend[i];
    const double at = height - 16 + row * legend_pitch;
    svg.dot(place, at, "d" + std::to_string(i % colours));
    svg.text(place + 9, at + 4, plot.lines[i].name, Anchor::start, "small");
  }
  return std::move(svg).finish();
}

std::string draw(const Plot& plot) {
  return std::visit([](const auto& content) { return draw(content); }, plot.content);
}

}  // namespace cloche::bench
