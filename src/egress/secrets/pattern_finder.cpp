#include "egress/secrets/pattern_finder.hpp"

#include <algorithm>

namespace cloche::egress {

PatternFinder::PatternFinder(const std::vector<std::string>& patterns) : nodes_(1) {
  for (const std::string& pattern : patterns) add(pattern);
  link();
}

void PatternFinder::add(const std::string& pattern) {
  State state = start;
  for (const char byte : pattern) {
    State next = child(state, byte);
    if (next == start) {
      next = static_cast<State>(nodes_.size());
      Node node;
      node.sibling = nodes_[state].first_child;
      node.depth = nodes_[state].depth + 1;
      node.byte = byte;
      nodes_.push_back(node);
      nodes_[state].first_child = next;
    }
    state = next;
  }
  nodes_[state].found = nodes_[state].depth;
}

// Breadth first: the fallback of a node is less deep than the node.
void PatternFinder::link() {
  std::vector<State> order;
  for (State each = nodes_[start].first_child; each != start; each = nodes_[each].sibling) {
    first_[static_cast<unsigned char>(nodes_[each].byte)] = each;
    order.push_back(each);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const State parent = order[i];
    for (State each = nodes_[parent].first_child; each != start; each = nodes_[each].sibling) {
      Node& node = nodes_[each];
      node.fallback = step(nodes_[parent].fallback, node.byte);
      node.found = std::max(node.found, nodes_[node.fallback].found);
      order.push_back(each);
    }
  }
}

}  // namespace cloche::egress
