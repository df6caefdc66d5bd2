// Shape: what a JSON value may look like, known before any of it is read. A reader that follows a shape refuses a wrong
// value at its first byte instead of building it.
//
// Shapes are constants. They check types and counts; what a text or a number means is checked by the code that uses the
// value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cloche {

struct Shape;

// A named member of an object.
struct ShapeMember {
  std::string_view name;
  const Shape* shape;
};

struct Shape {
  enum Kind : unsigned { flag = 1, number = 2, text = 4, list = 8, object = 16 };

  unsigned kinds = 0;                    // bits of Kind; null is accepted everywhere and means "absent"
  std::string_view wanted;               // completes the error "… must be"; empty: the error names the container
  std::span<const ShapeMember> members;  // of an object
  const Shape* each = nullptr;           // elements of a list, and members of an object that are not named
  std::size_t most = 10'000;             // elements, or members that are not named
};

namespace shapes {

inline constexpr Shape text{.kinds = Shape::text, .wanted = "a string"};
inline constexpr Shape flag{.kinds = Shape::flag, .wanted = "true or false"};
inline constexpr Shape number{.kinds = Shape::number, .wanted = "a number"};
inline constexpr Shape text_or_number{.kinds = Shape::text | Shape::number, .wanted = "a string or a number"};

inline constexpr Shape text_within{.kinds = Shape::text, .wanted = ""};
inline constexpr Shape texts{.kinds = Shape::list, .wanted = "a list of strings", .each = &text_within};
inline constexpr Shape text_map{.kinds = Shape::object, .wanted = "an object of strings", .each = &text_within};

// Any JSON, within the reader's count of values.
extern const Shape anything;

// An object with these members. Others may be there too, a few of them, so that the code behind can name them in its
// error or ignore them.
constexpr Shape object_of(std::span<const ShapeMember> members) {
  return {.kinds = Shape::object, .wanted = "a JSON object", .members = members, .each = &anything, .most = 64};
}

}  // namespace shapes

}  // namespace cloche
