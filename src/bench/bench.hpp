// The benchmarks as a whole: which rows, on what, and where the results go.
#pragma once

#include <string>
#include <vector>

#include "bench/report/report.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

// Measures these rows, by the ids of their scenarios, in the scenarios' order; all if none are given.
// `invalid_argument` for an unknown row, `cancelled` if interrupted.
Result<Report> measure_rows(Options options, const std::vector<std::string>& rows);

// Writes table.md, results.json and the plots into the directory, which is made if need be.
Status write_results(const Report& report, const std::string& directory);

}  // namespace cloche::bench
