// The result of a copy.
#pragma once

#include <cstdint>
#include <string>

namespace cloche::cli {

struct Copied {
  std::string path;  // where it is now
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t left_out = 0;  // what is neither file, directory nor link; links that lead out
  bool to_stdout = false;
  bool stdout_closed = false;  // of stdout
};

}  // namespace cloche::cli
