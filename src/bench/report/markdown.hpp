// A report as a page of Markdown: goals first, then a table a scenario, then what could not be measured.
#pragma once

#include <string>

#include "bench/report/report.hpp"

namespace cloche::bench {

enum class Plots { linked, left_out };

// Plots are linked as files beside the page.
std::string to_markdown(const Report& report, Plots plots);

}  // namespace cloche::bench
