#include "context/driver_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cloche {

namespace {

// The text up to the first blank, which is taken away from the front with it.
std::string_view take_word(std::string_view& text) {
  const auto blank = text.find(' ');
  const auto word = text.substr(0, blank);
  text.remove_prefix(blank == text.npos ? text.size() : blank + 1);
  return word;
}

bool is_id(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return !text.empty() && text.size() <= DriverReader::longest_id && std::ranges::all_of(text, is_hex);
}

std::optional<DriverEvent> parse(std::string_view record) {
  const auto kind = take_word(record);
  if (kind == "ready") {
    const auto pid = parse_number(record);
    if (!pid || *pid < 2) return std::nullopt;  // never the agent, nor a whole process group
    return DriverReady{*pid};
  }
  const auto id = take_word(record);
  if (!is_id(id)) return std::nullopt;
  if (kind == "begin") return DriverBegin{std::string(id), std::string(record)};
  if (kind == "display") return DriverDisplay{std::string(id), std::string(record)};
  if (kind == "leaving") return DriverLeaving{std::string(id)};
  if (kind == "end") return DriverEnd{DriverEnd::By::itself, std::string(id), std::string(record)};
  if (kind == "moved") return DriverEnd{DriverEnd::By::successor, std::string(id), std::string(record)};
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void DriverReader::feed(std::string_view bytes) {
  if (broken_) return;
  buffer_.erase(0, position_);
  searched_ -= std::min(searched_, position_);
  position_ = 0;
  buffer_.append(bytes);
}

std::unexpected<Error> DriverReader::breach(const std::string& why) {
  broken_ = true;
  buffer_ = {};
  position_ = searched_ = 0;
  return fail(ErrorCode::protocol, "an invalid record was written to the context's event descriptor: " + why);
}

Result<std::optional<DriverEvent>> DriverReader::next() {
  if (broken_) return std::nullopt;
  const auto end = buffer_.find('\0', std::max(searched_, position_));
  const std::size_t size = (end == std::string::npos ? buffer_.size() : end) - position_;
  if (size > longest_) return breach("it is longer than " + std::to_string(longest_) + " bytes");
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  auto event = parse(std::string_view(buffer_).substr(position_, size));
  position_ = end + 1;
  if (!event) return breach("unknown kind or id");
  return event;
}

}  // namespace cloche
