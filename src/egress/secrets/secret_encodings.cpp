#include "egress/secrets/secret_encodings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base64.hpp"
#include "core/percent_encoding.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace cloche::egress {

namespace {

std::string upper_hex(std::string_view bytes) {
  std::string digits = to_hex(bytes);
  std::ranges::transform(digits, digits.begin(),
                         [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return digits;
}

// The characters whose six bits are all of the secret, if `before` other bytes precede it.
std::string inner_base64(std::string_view secret, std::size_t before) {
  const std::string encoded = encode_base64(std::string(before, '\0').append(secret));
  const std::size_t first = (8 * before + 5) / 6;
  const std::size_t last = 8 * (before + secret.size()) / 6;
  return encoded.substr(first, last - first);
}

std::string with_url_alphabet(std::string base64) {
  std::ranges::replace(base64, '+', '-');
  std::ranges::replace(base64, '/', '_');
  return base64;
}

enum class HexCase { lower, upper };
enum class Blank { percent, plus };

// `also_kept`: besides letters and digits.
std::string percent_form(std::string_view secret, std::string_view also_kept, HexCase digits, Blank blank) {
  std::string encoded;
  for (const char c : secret) {
    const bool is_alphanumeric = is_unreserved(c) && std::string_view("-._~").find(c) == std::string_view::npos;
    if (is_alphanumeric || also_kept.find(c) != std::string_view::npos) {
      encoded += c;
    } else if (c == ' ' && blank == Blank::plus) {
      encoded += '+';
    } else {
      const std::string_view byte(&c, 1);
      encoded.append("%").append(digits == HexCase::upper ? upper_hex(byte) : to_hex(byte));
    }
  }
  return encoded;
}

std::string all_percent(std::string_view secret, HexCase digits) {
  std::string encoded;
  for (const char c : secret) {
    const std::string_view byte(&c, 1);
    encoded.append("%").append(digits == HexCase::upper ? upper_hex(byte) : to_hex(byte));
  }
  return encoded;
}

void add_percent_forms(std::string_view secret, std::vector<std::string>& forms) {
  // RFC 3986; encodeURIComponent; encodeURI; HTML forms; Python's quote.
  constexpr std::array<std::string_view, 5> kept{"-._~", "-._~!*'()", "-._~!*'();/?:@&=+$,#", "-._*", "-._~/"};
  for (const HexCase digits : {HexCase::upper, HexCase::lower}) {
    for (const std::string_view each : kept) {
      for (const Blank blank : {Blank::percent, Blank::plus})
        forms.push_back(percent_form(secret, each, digits, blank));
    }
    forms.push_back(all_percent(secret, digits));
  }
}

struct JsonStyle {
  bool escapes_slash = false;
  bool escapes_html = false;    // < > &
  bool escapes_beyond = false;  // what is not ASCII
};

void append_unit(std::string& text, unsigned unit) {
  text += "\\u";
  append_hex(text, static_cast<unsigned char>(unit >> 8));
  append_hex(text, static_cast<unsigned char>(unit & 0xff));
}

void append_code_point(std::string& text, std::uint32_t point) {
  if (point < 0x10000) return append_unit(text, point);
  append_unit(text, 0xd800 + ((point - 0x10000) >> 10));
  append_unit(text, 0xdc00 + ((point - 0x10000) & 0x3ff));
}

void append_json_ascii(std::string& text, char c, const JsonStyle& style) {
  constexpr std::string_view named = "\b\f\n\r\t\"\\";
  constexpr std::string_view letters = "bfnrt\"\\";
  const auto at = named.find(c);
  if (at != std::string_view::npos) {
    text.append("\\").push_back(letters[at]);
  } else if (c == '/' && style.escapes_slash) {
    text += "\\/";
  } else if (static_cast<unsigned char>(c) < 0x20 || (style.escapes_html && (c == '<' || c == '>' || c == '&'))) {
    append_unit(text, static_cast<unsigned char>(c));
  } else {
    text += c;
  }
}

std::string json_form(std::string_view secret, const JsonStyle& style) {
  std::string text;
  while (!secret.empty()) {
    const bool is_ascii = static_cast<unsigned char>(secret.front()) < 0x80;
    if (is_ascii || !style.escapes_beyond) {
      append_json_ascii(text, secret.front(), style);
      secret.remove_prefix(1);
    } else {
      const Character character = first_character(secret);
      append_code_point(text, character.code);
      secret.remove_prefix(character.length);
    }
  }
  return text;
}

void add_json_forms(std::string_view secret, std::vector<std::string>& forms) {
  const bool is_text = is_utf8(secret);
  for (const bool slash : {false, true}) {
    for (const bool html : {false, true}) {
      forms.push_back(json_form(secret, {slash, html, false}));
      if (is_text) forms.push_back(json_form(secret, {slash, html, true}));
    }
  }
}

std::string html_form(std::string_view secret, std::string_view quote, std::string_view apostrophe) {
  std::string text;
  for (const char c : secret) {
    constexpr std::string_view plain = "&<>\"'";
    const std::array<std::string_view, 5> escaped{"&amp;", "&lt;", "&gt;", quote, apostrophe};
    const auto at = plain.find(c);
    if (at == std::string_view::npos) {
      text += c;
    } else {
      text += escaped[at];
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> encodings_of(std::string_view secret) {
  std::vector<std::string> forms{std::string(secret), to_hex(secret), upper_hex(secret)};
  for (const std::size_t before : {0, 1, 2}) {
    forms.push_back(inner_base64(secret, before));
    forms.push_back(with_url_alphabet(forms.back()));
  }
  add_percent_forms(secret, forms);
  add_json_forms(secret, forms);
  for (const std::string_view quote : {"&quot;", "&#34;"}) {
    for (const std::string_view apostrophe : {"&#39;", "&#x27;", "'"}) {
      forms.push_back(html_form(secret, quote, apostrophe));
    }
  }
  std::ranges::sort(forms);
  forms.erase(std::ranges::unique(forms).begin(), forms.end());
  return forms;
}

}  // namespace cloche::egress
