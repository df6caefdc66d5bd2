// The lines of one file that match, with the lines around them.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <deque>
#include <string>

#include "agent/files/reply_batch.hpp"
#include "core/line_splitter.hpp"

namespace cloche::agent {

class LineSearch {
 public:
  static constexpr std::size_t longest_text = std::size_t{2} * 1024;

  // Counts matches in `count` and stops before there are more than `cap`.
  LineSearch(const re2::RE2& pattern, std::uint32_t context_lines, std::uint64_t cap, std::uint64_t& count,
             ReplyBatch& batch)
      : pattern_(pattern), context_lines_(context_lines), cap_(cap), count_(count), batch_(batch) {}

  // Begins a file of this path.
  void begin(const std::string& path);
  // The next line; returns whether to continue.
  bool on_line(const Line& line);

  bool cut() const { return cut_; }
  // The first failure to reply.
  const Status& status() const { return status_; }

 private:
  bool send(wire::GrepMatch match);
  wire::GrepMatch as_match(const Line& line, bool is_context) const;

  const re2::RE2& pattern_;
  std::uint32_t context_lines_;
  std::uint64_t cap_;
  std::uint64_t& count_;
  ReplyBatch& batch_;
  std::string path_;
  std::deque<wire::GrepMatch> before_;  // lines that wait to be the context of a match
  std::uint32_t after_ = 0;             // lines to come that are context of the last match
  bool cut_ = false;
  Status status_;
};

}  // namespace cloche::agent
