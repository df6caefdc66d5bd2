// Which interpreter runs a source file. Languages that need a compiler are not among them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::cli {

struct Interpreter {
  std::string_view language;
  std::string_view program;
  std::vector<std::string_view> extensions;
};

const std::vector<Interpreter>& interpreters();

// By name, whatever its case, or, when `language` is empty, by the file's extension. The error lists what there is.
Result<Interpreter> find_interpreter(std::string_view language, std::string_view file);

}  // namespace cloche::cli
