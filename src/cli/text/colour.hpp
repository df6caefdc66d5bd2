// Colours on a terminal, where they are wanted.
#pragma once

#include <string>
#include <string_view>

namespace cloche::cli {

enum class ColourMode { automatic, always, never };

enum class Colour { plain, good, warning, bad, dim, bold };

class Paint {
 public:
  enum class Use { colours, none };
  explicit Paint(Use use) : use_(use) {}

  bool uses_colours() const { return use_ == Use::colours; }
  std::string operator()(Colour colour, std::string_view text) const;

 private:
  Use use_;
};

// The inputs of mode `automatic`: a terminal that is not dumb, and no NO_COLOR (see no-color.org).
struct ColourHints {
  bool is_terminal = false;
  const char* no_color = nullptr;
  const char* term = nullptr;
};
Paint::Use choose_colours(ColourMode mode, const ColourHints& hints);

// For the whole process: the value of --color.
void set_colour_mode(ColourMode mode);
// For output on this descriptor.
Paint paint_for(int fd);

}  // namespace cloche::cli
