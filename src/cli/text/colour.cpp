#include "cli/text/colour.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace cloche::cli {

namespace {

ColourMode mode_of_process = ColourMode::automatic;

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::plain: return "";
    case Colour::good: return "32";
    case Colour::warning: return "33";
    case Colour::bad: return "31";
    case Colour::dim: return "2";
    case Colour::bold: return "1";
  }
  return "";
}

}  // namespace

std::string Paint::operator()(Colour colour, std::string_view text) const {
  if (use_ == Use::none || colour == Colour::plain || text.empty()) return std::string(text);
  return std::string("\033[").append(code_of(colour)).append("m").append(text).append("\033[0m");
}

Paint::Use choose_colours(ColourMode mode, const ColourHints& hints) {
  if (mode == ColourMode::always) return Paint::Use::colours;
  if (mode == ColourMode::never || !hints.is_terminal) return Paint::Use::none;
  if (hints.no_color != nullptr && *hints.no_color != '\0') return Paint::Use::none;
  const bool dumb = hints.term == nullptr || std::strcmp(hints.term, "dumb") == 0;
  return dumb ? Paint::Use::none : Paint::Use::colours;
}

void set_colour_mode(ColourMode mode) { mode_of_process = mode; }

Paint paint_for(int fd) {
  ColourHints hints;
  hints.is_terminal = ::isatty(fd) != 0;
  hints.no_color = std::getenv("NO_COLOR");
  hints.term = std::getenv("TERM");
  return Paint(choose_colours(mode_of_process, hints));
}

}  // namespace cloche::cli
