// RunLog: what a run has printed, made and come to, for any number of readers, each from wherever it likes. No I/O.
//
// A reader's place is a position: a number of bytes of output, stdout and stderr together in their order, and then one
// for each artifact and one for the end. It is independent of how output is split into events, so a log costs little
// more than its bytes, whatever the pieces were in which the program printed them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "session/context_result.hpp"

namespace cloche::session {

// An Error: Cloche could not do its work, or the run was called off.
using RunEnd = std::variant<RunResult, ContextResult, Error>;

// nullptr when there is an Error in it.
const RunResult* result_in(const RunEnd& end);

struct RunEvent {
  std::uint64_t position = 0;  // after it: where a reader that has seen it continues
  std::variant<Output, Artifact, const RunEnd*> what;
};

class RunLog {
 public:
  void add(const Output& output);
  // Nothing is added any more.
  void end(RunEnd how);

  // The event at a position; nullopt if there is nothing, or not yet. Events have a limited size, and as long as more
  // may follow, no character is split.
  std::optional<RunEvent> next(std::uint64_t position) const;
  // Whether there can be a reader at this position.
  bool reaches(std::uint64_t position) const { return position <= size(); }
  // Whether a reader there has seen all there will be.
  bool is_end(std::uint64_t position) const { return end_ && position >= size(); }

  const std::string& output(Stream stream) const { return text_[index(stream)]; }
  // nullptr while it runs.
  const RunEnd* how() const { return end_ ? &*end_ : nullptr; }
  // The approximate memory.
  std::size_t weight() const;

 private:
  // Bytes of one stream that stand together.
  struct Segment {
    std::uint64_t end = 0;      // a position
    std::uint64_t in_text = 0;  // the end, in the stream's own bytes
    Stream stream = Stream::out;
  };

  static std::size_t index(Stream stream) { return stream == Stream::out ? 0 : 1; }
  std::uint64_t told() const { return segments_.empty() ? 0 : segments_.back().end; }
  std::uint64_t size() const;
  const std::vector<Artifact>* artifacts() const;
  void tell(Stream stream);
  std::optional<RunEvent> output_at(std::uint64_t position) const;

  std::string text_[2];
  std::uint64_t told_of_[2] = {};  // bytes of each that are in segments
  std::vector<Segment> segments_;
  std::optional<RunEnd> end_;
};

}  // namespace cloche::session
