#include "dialect/e2b/connect/request_fields.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"

namespace cloche::dialect::e2b::connect {

namespace {

constexpr std::chrono::seconds usual_keepalive{90};
constexpr std::chrono::seconds longest_keepalive{3600};
// As the protocol has it: at most ten digits.
constexpr std::size_t most_timeout_digits = 10;

std::optional<std::uint64_t> digits_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_identity(std::string_view coding) { return coding.empty() || same_word(coding, "identity"); }

}  // namespace

bool has_type(const http::Fields& fields, std::string_view type) {
  const std::string_view all = http::field_value(fields, "Content-Type");
  const auto end = std::min(all.find(';'), all.size());
  if (!same_word(http::without_blanks_around(all.substr(0, end)), type)) return false;
  const std::string_view parameter = http::without_blanks_around(all.substr(std::min(end + 1, all.size())));
  return parameter.empty() || same_word(parameter, "charset=utf-8");
}

Reply<> check_protocol(const http::Fields& fields) {
  const std::string_view version = http::field_value(fields, "Connect-Protocol-Version");
  if (!version.empty() && version != "1") {
    return failure(Code::invalid_argument,
                   "connect-protocol-version must be \"1\": got \"" + std::string(version) + "\"");
  }
  if (!is_identity(http::field_value(fields, "Content-Encoding")) ||
      !is_identity(http::field_value(fields, "Connect-Content-Encoding"))) {
    return failure(Code::unimplemented, "unknown compression; supported encodings are identity");
  }
  return {};
}

Reply<std::optional<std::chrono::milliseconds>> timeout_of(const http::Fields& fields) {
  const std::string_view text = http::field_value(fields, "Connect-Timeout-Ms");
  if (text.empty()) return std::nullopt;
  const auto number = text.size() > most_timeout_digits ? std::nullopt : digits_in(text);
  if (!number) return failure(Code::invalid_argument, "protocol error: invalid timeout");
  return std::chrono::milliseconds(*number);
}

std::chrono::seconds keepalive_interval(const http::Fields& fields) {
  const auto number = digits_in(http::field_value(fields, "Keepalive-Ping-Interval"));
  if (!number) return usual_keepalive;
  const auto bounded = std::min<std::uint64_t>(*number, static_cast<std::uint64_t>(longest_keepalive.count()));
  return std::max(std::chrono::seconds(1), std::chrono::seconds(bounded));
}

}  // namespace cloche::dialect::e2b::connect
