// Fault points: named steps at which a test can make this process fail, to see what the rest makes of it.
//
//   fault_point<"pool.make.journalled">();                        // may kill, throw or delay
//   CLOCHE_CHECK(fallible_point<"pool.make.journalled">());       // may also fail
//
// The action is chosen by the environment or by set_faults(): CLOCHE_FAULT=NAME[:PASS][=ACTION][,...]
//
//   PASS     3: the third time that the point is passed (the first by default); 3+: from the third time on
//   ACTION   kill (SIGKILL, by default), throw (std::runtime_error), bad_alloc, fail (an internal error),
//            delay (one second on this thread), hang (until the step's deadline, then `timeout`)
//
// All of this is compiled into builds with tests alone. Elsewhere a point is nothing: no call, no name in the program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche {

#ifdef CLOCHE_FAULT_POINTS

namespace faults {

template <std::size_t size>
struct Name {
  consteval Name(const char (&text)[size]) { std::copy_n(text, size, chars); }  // NOLINT(google-explicit-constructor)
  std::string_view view() const { return {chars, size - 1}; }
  char chars[size] = {};
};

// The possible actions at a point.
enum class Kind { plain, fallible };
struct Point {
  std::string_view name;
  Kind kind;
};

// All points of this program, by name.
std::vector<Point> all();
// How often the point was passed since the last set_faults().
std::size_t passes(std::string_view name);
// Replaces the environment's; empty for none. invalid_argument if it cannot be parsed.
Status set_faults(std::string_view setting);

bool add(std::string_view name, Kind kind);
void pass(std::string_view name);
Status pass_fallible(std::string_view name, Deadline deadline);

// Its one object is made when the program starts, whether the point is ever passed or not.
template <Name name, Kind kind>
struct Registered {
  static inline const bool done = add(name.view(), kind);
};

}  // namespace faults

template <faults::Name name>
void fault_point() {
  (void)&faults::Registered<name, faults::Kind::plain>::done;
  faults::pass(name.view());
}

template <faults::Name name>
Status fallible_point(Deadline deadline = Deadline::never()) {
  (void)&faults::Registered<name, faults::Kind::fallible>::done;
  return faults::pass_fallible(name.view(), deadline);
}

#else

namespace faults {
struct Ignored {
  template <std::size_t size>
  consteval Ignored(const char (&)[size]) {}  // NOLINT(google-explicit-constructor)
};
}  // namespace faults

template <faults::Ignored>
void fault_point() {}

template <faults::Ignored>
Status fallible_point(Deadline = Deadline::never()) {
  return {};
}

#endif

}  // namespace cloche
