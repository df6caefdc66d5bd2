// The results of a benchmark run: sections, one per scenario, of figures and goals; and what this host lacked.
#pragma once

#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/report/plot.hpp"
#include "bench/report/summary.hpp"

namespace cloche::bench {

struct Figure {
  std::string how;
  std::string unit;
  Summary value;
};

// A goal of the project, and the result of this run.
struct Goal {
  std::string what;
  std::string against;  // measured beside it; empty: an absolute figure
  std::string wanted;
  std::string measured;
  bool met = false;
};

// Something that could not be measured here. It is named, never made up.
struct Lack {
  std::string thing;
  std::string why;
};

struct Section {
  std::string id;
  std::string title;
  std::string method;     // how it was measured, in a sentence or two
  std::string reference;  // the figure that the others' ratios are to; empty: no ratios
  std::vector<Figure> figures;
  std::vector<Goal> goals;
  std::vector<Lack> lacks;
  std::vector<Plot> plots;
};

enum class Length { quick, full };

struct Report {
  Machine machine;
  Length length = Length::full;
  double seconds = 0;  // it took
  std::vector<Lack> lacks;
  std::vector<Section> sections;
};

// The figure with this name; null if there is none.
const Figure* find_figure(const Section& section, const std::string& how);

}  // namespace cloche::bench
