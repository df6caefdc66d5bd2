// A glob pattern over paths, matched a name at a time on the way down a tree. No I/O here.
//
//   *  ?  [..]   within a name; a name that starts with a dot is matched only by a dot, unless hidden names are asked
//   for
//   **           any number of directories, none included; at the end, everything below
//   {a,b}        alternatives, nested or not
//   \            makes the next character an ordinary one
//   name/        with a slash at the end: directories only
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "pattern/wildcard.hpp"

namespace cloche {

enum class Hidden { skip, match };

class GlobPattern {
 public:
  // invalid_argument for an empty or absolute pattern, NUL, `..`, and what its parts refuse.
  static Result<GlobPattern> compile(std::string_view pattern, Hidden hidden);

  // The parts of the pattern that are still to be matched after some names; sorted, without duplicates.
  using States = std::vector<std::uint32_t>;
  States start() const;
  States step(const States& states, std::string_view name) const;
  enum class Is { directory, other };
  bool accepts(const States& states, Is is) const;
  // Whether anything below could still match.
  bool goes_on(const States& states) const;

  // A whole relative path.
  bool matches(std::string_view path, Is is = Is::other) const;

 private:
  enum class Kind { name, any_depth, end, end_directory };
  struct Part {
    Kind kind = Kind::name;
    Wildcard wildcard;
  };

  Status add_alternative(std::string_view pattern);
  void add_state(States& states, std::uint32_t state) const;
  static void tidy(States& states);

  std::vector<Part> parts_;            // of all alternatives, each with its end
  std::vector<std::uint32_t> starts_;  // where each begins
  Hidden hidden_ = Hidden::skip;
};

}  // namespace cloche
