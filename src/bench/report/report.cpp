#include "bench/report/report.hpp"

#include <algorithm>

namespace cloche::bench {

const Figure* find_figure(const Section& section, const std::string& how) {
  const auto found = std::ranges::find(section.figures, how, &Figure::how);
  return found == section.figures.end() ? nullptr : &*found;
}

}  // namespace cloche::bench
