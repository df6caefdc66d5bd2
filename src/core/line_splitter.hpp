// LineSplitter: bytes in, lines out, as they come. Only the beginning of a long line is kept. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche {

struct Line {
  std::uint64_t number = 0;  // from 1
  std::string_view text;     // without its line feed; valid until the next call, and as long as the bytes
  bool cut = false;          // there was more of it
};

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // Takes the next line off the front of `bytes`; nothing when they are used up before a line's end.
  std::optional<Line> next(std::string_view& bytes);
  // After the last bytes: a last line without a line feed.
  std::optional<Line> finish();
  // True once the line whose end is yet to come is longer than the limit.
  bool is_cutting() const { return begun_cut_; }

 private:
  std::size_t longest_;
  std::string begun_;  // the beginning of a line whose end is yet to come
  std::string ended_;  // a line that came in pieces, for its reader
  bool in_line_ = false;
  bool begun_cut_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace cloche
