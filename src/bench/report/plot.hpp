// Plots as SVG, readable on light and dark pages, drawn without any library.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cloche::bench {

enum class Scale { linear, logarithmic };

struct Axis {
  std::string label;
  Scale scale = Scale::linear;
};

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by rising x
};

struct LinePlot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Line> lines;
};

struct Bar {
  std::string name;
  double value = 0;
  double low = 0;  // the middle half of what was measured, drawn as a whisker; equal: none
  double high = 0;
  bool ours = false;
};

struct BarPlot {
  std::string title;
  std::string label;  // of the values' axis
  std::vector<Bar> bars;
};

struct Plot {
  std::string name;  // of its file, without .svg
  std::variant<LinePlot, BarPlot> content;
};

// Values that are not above zero cannot be shown on a logarithmic axis and are skipped.
std::string draw(const LinePlot& plot);
std::string draw(const BarPlot& plot);
std::string draw(const Plot& plot);

// Round numbers that span a range, both ends included: what an axis is marked with.
std::vector<double> ticks(double least, double most, Scale scale);
// Three digits that count: 0.042, 4.21, 42.1, 421, 4,210.
std::string number_text(double value);

}  // namespace cloche::bench
