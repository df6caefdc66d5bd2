// LineWindow: some lines out of a stream of bytes, and how many there are in all. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace cloche::api {

struct LineCaps {
  Bytes content = mib(16);   // of all that is kept; the window then ends before the line that does not fit
  Bytes line = mib(1);       // of one line; the rest of it is left out
  Bytes counted = mib(64);   // once the window is full, lines are counted in so much of the stream
  Bytes scanned = mib(256);  // a window that begins later is not reached
};

class LineWindow {
 public:
  // Lines [first, first + count), from 0. A line ends with its line feed, which belongs to it.
  LineWindow(std::uint64_t first, std::uint64_t count, LineCaps caps) : first_(first), count_(count), caps_(caps) {}

  void take(std::string_view bytes);
  // The stream has ended.
  void end();

  // Nothing that follows would change the result.
  bool has_enough() const;
  // False when the stream was cut before the window began.
  bool reached() const { return ended_ || line_ >= first_; }

  const std::string& content() const { return content_; }
  std::string take_content() { return std::move(content_); }
  std::uint64_t kept_lines() const { return kept_lines_; }
  std::uint64_t cut_lines() const { return cut_lines_; }
  bool more_follows() const { return !ended_ || total_lines() > first_ + kept_lines_; }
  // Seen so far; exact once the stream has ended.
  std::uint64_t total_lines() const { return line_ + (in_line_ ? 1 : 0); }
  bool total_is_exact() const { return ended_; }
  std::uint64_t scanned() const { return scanned_; }

 private:
  bool in_window() const { return line_ >= first_ && line_ - first_ < count_ && !full_; }
  bool past_window() const { return full_ || (line_ >= first_ && line_ - first_ >= count_); }
  void keep(std::string_view part);
  void end_line();

  std::uint64_t first_;
  std::uint64_t count_;
  LineCaps caps_;
  std::string content_;
  std::uint64_t line_ = 0;      // the current one
  bool in_line_ = false;        // something of it was seen
  std::size_t line_start_ = 0;  // where it begins in the content
  bool line_cut_ = false;
  std::uint64_t kept_lines_ = 0;
  std::uint64_t cut_lines_ = 0;
  std::uint64_t scanned_ = 0;
  bool full_ = false;
  bool ended_ = false;
};

}  // namespace cloche::api
