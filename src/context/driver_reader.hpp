// DriverReader: from the bytes that an interpreter's driver writes to its event descriptor to what they say.
//
// Records end with a NUL: `ready PID`, `begin ID REST`, `display ID REST`, `end ID REST`, `leaving ID` (a successor is
// about to report the end), `moved ID REST` (it does). The driver shares its process with untrusted code, so these may
// be any bytes. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.hpp"

namespace cloche {

struct DriverReady {
  std::uint32_t pid = 0;  // as the sandbox counts
  bool operator==(const DriverReady&) const = default;
};
struct DriverBegin {
  std::string id;
  std::string rest;
  bool operator==(const DriverBegin&) const = default;
};
// Something that the call shows, besides its output.
struct DriverDisplay {
  std::string id;
  std::string rest;
  bool operator==(const DriverDisplay&) const = default;
};
struct DriverLeaving {
  std::string id;
  bool operator==(const DriverLeaving&) const = default;
};
struct DriverEnd {
  enum class By { itself, successor } by = By::itself;
  std::string id;
  std::string rest;
  bool operator==(const DriverEnd&) const = default;
};
using DriverEvent = std::variant<DriverReady, DriverBegin, DriverDisplay, DriverLeaving, DriverEnd>;

class DriverReader {
 public:
  static constexpr std::size_t longest_record = 8 * 1024 * 1024;
  static constexpr std::size_t longest_id = 64;

  explicit DriverReader(std::size_t longest = longest_record) : longest_(longest) {}

  void feed(std::string_view bytes);
  // The next record; nullopt when more bytes are needed. After an error there is nothing more.
  Result<std::optional<DriverEvent>> next();

  std::size_t buffered() const { return buffer_.size(); }

 private:
  std::unexpected<Error> breach(const std::string& why);

  std::size_t longest_;
  std::string buffer_;
  std::size_t position_ = 0;  // where the next record starts
  std::size_t searched_ = 0;  // there is no NUL up to here
  bool broken_ = false;
};

// A decimal number that fills the whole text.
std::optional<std::uint32_t> parse_number(std::string_view text);

}  // namespace cloche
