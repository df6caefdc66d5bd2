// An SVG document as it is written: its frame, colours and elements. Used by the plots alone.
#pragma once

#include <string>
#include <string_view>

namespace cloche::bench {

enum class Anchor { start, middle, end };

class Svg {
 public:
  // Its colours follow the reader's scheme, light or dark, on a background of its own.
  Svg(double width, double height, std::string_view title);

  void text(double x, double y, std::string_view words, Anchor anchor, std::string_view style);
  // Read from below.
  void upright_text(double x, double y, std::string_view words);
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void box(double x, double y, double width, double height, std::string_view style);
  void dot(double x, double y, std::string_view style);
  void path(std::string_view steps, std::string_view style);

  // The whole document.
  std::string finish() &&;

 private:
  std::string out_;
};

// Safe as an element's text or an attribute's value.
std::string escape_xml(std::string_view text);
// A coordinate, with one decimal.
std::string coordinate(double value);

}  // namespace cloche::bench
