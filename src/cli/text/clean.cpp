#include "cli/text/clean.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace cloche::cli {

namespace {

struct Character {
  char32_t code = 0;
  std::string_view bytes;
};

// Takes the next character off text that is valid UTF-8.
Character take_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  Character character;
  character.bytes = text.substr(0, size);
  character.code = size == 1 ? lead : lead & (0xffU >> (size + 1));
  for (const char c : character.bytes.substr(1)) {
    character.code = (character.code << 6) | (static_cast<unsigned char>(c) & 0x3fU);
  }
  text.remove_prefix(character.bytes.size());
  return character;
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t n>
bool is_in(const Range (&ranges)[n], char32_t code) {
  return std::ranges::any_of(ranges, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

constexpr Range controls[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},
                              {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f}};
constexpr Range wide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                          {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                          {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
constexpr Range without_width[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

std::size_t width_of(char32_t code) { return is_in(without_width, code) ? 0 : is_in(wide, code) ? 2 : 1; }

enum class LineFeeds { become_blanks, stay };

std::string cleaned(std::string_view text, LineFeeds line_feeds) {
  const std::string valid = to_utf8(text);
  std::string clean;
  clean.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const Character character = take_character(rest);
    if (character.code == '\n' && line_feeds == LineFeeds::stay) {
      clean += '\n';
    } else if (character.code == '\n' || character.code == '\t') {
      clean += ' ';
    } else if (is_in(controls, character.code)) {
      clean += '?';
    } else {
      clean += character.bytes;
    }
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, LineFeeds::become_blanks); }

std::string printable_lines(std::string_view text) { return cleaned(text, LineFeeds::stay); }

std::size_t display_width(std::string_view text) {
  const std::string valid = to_utf8(text);
  std::size_t width = 0;
  for (std::string_view rest = valid; !rest.empty();) width += width_of(take_character(rest).code);
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::string valid = to_utf8(text);
  std::string cut;
  std::size_t width = 0;
  for (std::string_view rest = valid; !rest.empty();) {
    const Character character = take_character(rest);
    width += width_of(character.code);
    if (width > columns - 1) break;
    cut += character.bytes;
  }
  return cut + "…";
}

}  // namespace cloche::cli
