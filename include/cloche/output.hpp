/// @file
/// Output of a program: piece by piece as it arrives, or all of it together with how the program ended.
#pragma once

#include <string>

#include "cloche/outcome.hpp"

namespace cloche {

/// An output of a program: stdout, stderr, or the event descriptor (see ExecSpec::events).
enum class Stream { out, err, event };

/// Bytes that a program wrote to one of its outputs.
struct Output {
  Stream stream = Stream::out;  ///< Where the bytes were written to.
  std::string bytes;  ///< The bytes as they arrived. A piece may end anywhere, even in the middle of a character.
};

/// How a program ended and what it printed. Each output has at most ExecSpec::keep_output bytes.
struct RunResult {
  Outcome outcome;     ///< How the program ended.
  std::string out;     ///< What it wrote to stdout.
  std::string err;     ///< What it wrote to stderr.
  std::string events;  ///< What it wrote to its event descriptor; see ExecSpec::events.

  /// Appends a piece to the output that it belongs to.
  void add(const Output& piece) {
    std::string& printed = piece.stream == Stream::out ? out : piece.stream == Stream::err ? err : events;
    printed += piece.bytes;
  }
};

}  // namespace cloche
