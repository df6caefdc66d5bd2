#include "json/write_json.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "core/base64.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace cloche {

namespace {

// The character after the backslash; 'u' for those without a letter, 0 for what needs no escape.
constexpr std::array<char, 256> escapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

void append_string(std::string& into, std::string_view text) {
  into += '"';
  std::size_t written = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const char escape = escapes[byte];
    if (escape == 0) continue;
    into.append(text, written, i - written);
    written = i + 1;
    into += '\\';
    into += escape;
    if (escape == 'u') append_hex(into += "00", byte);
  }
  into.append(text, written, text.size() - written);
  into += '"';
}

template <class Number>
void append_whole(std::string& into, Number number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  into.append(digits.data(), end);
}

void append_number(std::string& into, double number) {
  if (!std::isfinite(number)) {
    into += "null";
    return;
  }
  if (number == 0) {
    into += '0';  // and not "-0"
    return;
  }
  std::array<char, 1100> digits;  // the smallest double has 1,074 digits behind the point at most
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed).ptr;
  into.append(digits.data(), end);
}

// Recursion is bounded: values are built by our own code, or by readers with a limit on depth.
void append(std::string& into, const json::value& value) {  // NOLINT(misc-no-recursion)
  switch (value.kind()) {
    case json::kind::null: into += "null"; break;
    case json::kind::bool_: into += value.get_bool() ? "true" : "false"; break;
    case json::kind::int64: append_whole(into, value.get_int64()); break;
    case json::kind::uint64: append_whole(into, value.get_uint64()); break;
    case json::kind::double_: append_number(into, value.get_double()); break;
    case json::kind::string: append_string(into, value.get_string()); break;
    case json::kind::array: {
      into += '[';
      bool first = true;
      for (const json::value& each : value.get_array()) {
        if (!std::exchange(first, false)) into += ',';
        append(into, each);
      }
      into += ']';
      break;
    }
    case json::kind::object: {
      into += '{';
      bool first = true;
      for (const auto& [key, each] : value.get_object()) {
        if (!std::exchange(first, false)) into += ',';
        append_string(into, key);
        into += ':';
        append(into, each);
      }
      into += '}';
      break;
    }
  }
}

void weigh(const json::value& value, std::size_t& sum, std::size_t enough) {  // NOLINT(misc-no-recursion)
  sum += 8;
  if (sum > enough) return;
  if (const auto* text = value.if_string()) {
    sum += text->size();
  } else if (const auto* list = value.if_array()) {
    for (auto each = list->begin(); each != list->end() && sum <= enough; ++each) weigh(*each, sum, enough);
  } else if (const auto* object = value.if_object()) {
    for (auto each = object->begin(); each != object->end() && sum <= enough; ++each) {
      sum += each->key().size() + 4;
      weigh(each->value(), sum, enough);
    }
  }
}

}  // namespace

std::string write_json(const json::value& value) {
  constexpr std::size_t worth_reserving = std::size_t{1} << 30;
  std::string text;
  text.reserve(json_weight(value, worth_reserving));
  append(text, value);
  return text;
}

std::string write_json_number(double number) {
  std::string text;
  append_number(text, number);
  return text;
}

std::string write_json_string(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size() + 2);
  append_string(quoted, text);
  return quoted;
}

void put_bytes(json::object& into, std::string_view key, std::string_view bytes) {
  const std::string text = to_utf8(bytes);
  if (text != bytes) into[std::string(key) + "_base64"] = encode_base64(bytes);
  into[key] = text;
}

std::size_t json_weight(const json::value& value, std::size_t enough) {
  std::size_t sum = 0;
  weigh(value, sum, enough);
  return sum;
}

}  // namespace cloche
