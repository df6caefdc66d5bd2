// RepeatFilter: lets the first few messages of a kind pass and counts the rest. Messages that differ in numbers, ids
// and the like alone are of one kind. No clock, no I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche::log {

class RepeatFilter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::uint32_t most_of_a_kind = 10;  // in a window
  static constexpr std::chrono::seconds window{10};
  static constexpr std::size_t most_kinds = 512;  // further ones are all of one kind

  // Whether the message is to be written.
  bool admit(int level, std::string_view message, Time now);

  struct Counted {
    int level = 0;
    std::string last;  // of those that were not written
    std::uint64_t count = 0;
    std::chrono::seconds over{};
  };
  enum class Due { over, all };
  // The kinds with suppressed lines whose window is over, or all of them; each is returned once.
  std::vector<Counted> take(Due due, Time now);

 private:
  struct Kind {
    Time since;
    std::uint32_t written = 0;
    std::uint64_t left_out = 0;
    std::string last;
  };
  std::map<std::pair<int, std::string>, Kind> kinds_;
  Time next_look_;
};

// The message with everything that has a digit in it replaced by '#'.
std::string kind_of(std::string_view message);

}  // namespace cloche::log
