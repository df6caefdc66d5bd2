// One cell in an interpreter whose driver takes cells: cell_driver.py, javascript_driver.js.
#pragma once

#include <string>

#include "context/cell.hpp"
#include "context/context_core.hpp"

namespace cloche {

// `figures`: what the path of a figure of this cell begins with.
Task<Result<CellResult>> run_cell(ContextCore& core, CellRequest request, std::string figures, OutputSink sink,
                                  Deadline deadline);

}  // namespace cloche
