// A cell: how it reaches the driver in Python, and what the driver says of its end. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/call_result.hpp"
#include "core/result.hpp"

namespace cloche {

struct CellRequest {
  std::string code;                  // UTF-8
  std::optional<std::string> input;  // the cell's stdin; after it, or without it, there is its end
  std::chrono::milliseconds wall_limit = std::chrono::seconds(30);
  std::map<std::string, std::string> env;  // variables that are set during the cell
  ContextCaps caps;
  DisplaySink display;  // called with each rich result, a JSON object; see rich_results.py
};

// An exception that was not caught.
struct CellError {
  std::string type;
  std::string message;
  std::string traceback;  // as Python prints it, the cells' own frames and what they called
  bool operator==(const CellError&) const = default;
};

struct CellResult : CallResult {
  std::optional<std::string> value;  // repr of the last expression, unless that is None or ends with a semicolon
  bool value_cut = false;
  std::optional<CellError> error;
  std::optional<int> exit_code;      // the cell left by sys.exit()
  std::vector<std::string> figures;  // absolute paths of PNG files
  std::uint32_t figures_left_out = 0;
};

constexpr std::uint32_t most_figures = 20;  // of one cell

// Refuses what makes no sense.
Status validate(const CellRequest& request);

struct CellFrame {
  std::string id;
  std::uint64_t interrupts = 0;  // sent to this interpreter so far
  std::string figure_prefix;     // a figure's path is this, a number and ".png"
  bool rich = false;             // rich results are wanted
};
// The driver's input.
std::string to_driver_input(const CellRequest& request, const CellFrame& frame);

// Fills in what the driver reported. Its figures are believed only where they can be.
Status take_report(std::string_view report, const std::string& figure_prefix, CellResult& result);

}  // namespace cloche
