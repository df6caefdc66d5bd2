// PatternFinder: finds many strings at once in bytes that come one by one (Aho and Corasick). No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cloche::egress {

class PatternFinder {
 public:
  // What the bytes so far end with: a number for `step`.
  using State = std::uint32_t;
  static constexpr State start = 0;

  // None of them is empty.
  explicit PatternFinder(const std::vector<std::string>& patterns);

  State step(State state, char byte) const {
    while (state != start) {
      if (const State next = child(state, byte); next != start) return next;
      state = nodes_[state].fallback;
    }
    return first_[static_cast<unsigned char>(byte)];
  }
  // How many of the last bytes may be the beginning of a string.
  std::size_t depth(State state) const { return nodes_[state].depth; }
  // The length of the longest string that ends here; 0: none does.
  std::size_t found(State state) const { return nodes_[state].found; }

 private:
  struct Node {
    State fallback = start;  // the longest other beginning of a string that the bytes end with
    State first_child = start;
    State sibling = start;
    std::uint32_t depth = 0;
    std::uint32_t found = 0;
    char byte = 0;
  };

  void add(const std::string& pattern);
  void link();
  State child(State state, char byte) const {
    State each = nodes_[state].first_child;
    while (each != start && nodes_[each].byte != byte) each = nodes_[each].sibling;
    return each;
  }

  std::vector<Node> nodes_;
  std::array<State, 256> first_{};  // the root's children, of which there are many
};

}  // namespace cloche::egress
