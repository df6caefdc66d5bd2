// One range of bytes out of something whose size is known, as the field Range asks for it. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace cloche::http {

struct WholeContent {};        // no range asked for, or one that may be ignored: answer 200
struct UnsatisfiableRange {};  // answer 416 with `unsatisfied_range`
// Answer 206 with `content_range`.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;  // at least 1
};

using WantedBytes = std::variant<WholeContent, ByteRange, UnsatisfiableRange>;

// Reads the value of a Range field. Several ranges, other units and nonsense are ignored, as the standard has it.
WantedBytes parse_range(std::string_view value, std::uint64_t size);

// Values of Content-Range: "bytes 0-99/1000" and "bytes */1000".
std::string content_range(const ByteRange& range, std::uint64_t size);
std::string unsatisfied_range(std::uint64_t size);

}  // namespace cloche::http
