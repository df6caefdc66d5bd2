// Cuts bytes into lines as they come, of which only the beginning is kept when they are long. No I/O here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cloche::agent {

struct Line {
  std::uint64_t number = 0;  // from 1
  std::string_view text;     // without its newline; valid during the call
  bool cut = false;          // there was more of it
};

class LineSplitter {
 public:
  static constexpr std::size_t longest_line = std::size_t{64} * 1024;

  // `on_line` returns whether to continue; if not, no more lines are passed.
  explicit LineSplitter(std::function<bool(const Line&)> on_line) : on_line_(std::move(on_line)) {}

  // False once `on_line` wanted no more.
  bool feed(std::string_view bytes);
  // After the last bytes: a last line without newline.
  bool finish();

 private:
  bool hand_out(std::string_view text, bool cut);

  std::function<bool(const Line&)> on_line_;
  std::string begun_;  // beginning of a line whose end is yet to come
  bool begun_cut_ = false;
  bool in_line_ = false;
  std::uint64_t number_ = 0;
  bool wanted_ = true;
};

}  // namespace cloche::agent
