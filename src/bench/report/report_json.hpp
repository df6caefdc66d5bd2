// A report as JSON, for programs: the same figures, in full.
#pragma once

#include <string>

#include "bench/report/report.hpp"

namespace cloche::bench {

std::string to_json(const Report& report);

}  // namespace cloche::bench
