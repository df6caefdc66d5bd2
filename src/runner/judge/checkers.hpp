// Checkers without a program: is what was printed what was expected? No I/O; the texts may be any bytes.
#pragma once

#include <string>
#include <string_view>

#include "cloche/submission.hpp"

namespace cloche::runner {

struct Comparison {
  bool right = false;
  std::string reason;  // of a wrong one: the first difference, bounded; empty when it is right

  static Comparison good() { return {.right = true, .reason = {}}; }
  static Comparison bad(std::string reason) { return {.right = false, .reason = std::move(reason)}; }
};

// Byte for byte.
Comparison compare_exactly(std::string_view expected, std::string_view got);

// Line by line, without white space at the ends of lines and without empty lines at the end.
Comparison compare_trimmed(std::string_view expected, std::string_view got);

// Word by word; how they are spaced and broken into lines does not matter.
Comparison compare_tokens(std::string_view expected, std::string_view got);

// Word by word, numbers within an absolute tolerance or one relative to the expected number. Infinity matches only
// infinity of the same sign, and NaN matches only NaN. Words that are not numbers must be equal.
Comparison compare_numbers(std::string_view expected, std::string_view got, Tolerance tolerance);

// By any of the above. Not for Checker::Kind::program.
Comparison compare(const Checker& checker, std::string_view expected, std::string_view got);

}  // namespace cloche::runner
