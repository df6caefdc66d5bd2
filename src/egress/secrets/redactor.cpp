#include "egress/secrets/redactor.hpp"

#include <algorithm>
#include <utility>

namespace cloche::egress {

Redactor::Redactor(const std::vector<std::shared_ptr<const PatternFinder>>& secrets) {
  for (const auto& finder : secrets) searches_.push_back({finder, PatternFinder::start, {}});
}

void Redactor::feed_one(Search& search, std::string& piece) {
  const std::size_t held = search.held.size();
  if (held > 0) piece.insert(0, std::exchange(search.held, {}));
  PatternFinder::State state = search.state;
  for (std::size_t i = held; i < piece.size(); ++i) {
    state = search.finder->step(state, piece[i]);
    if (const std::size_t length = search.finder->found(state)) {
      const auto end = piece.begin() + static_cast<std::ptrdiff_t>(i + 1);
      std::fill(end - static_cast<std::ptrdiff_t>(length), end, mark);
    }
  }
  search.state = state;
  const std::size_t certain = piece.size() - search.finder->depth(state);
  search.held = piece.substr(certain);
  piece.resize(certain);
}

std::string Redactor::feed(std::string_view piece) {
  std::string bytes(piece);
  for (Search& search : searches_) feed_one(search, bytes);
  return bytes;
}

std::string Redactor::whole(std::string_view text) {
  std::string bytes = feed(text);
  return bytes += finish();
}

std::string Redactor::finish() {
  std::string bytes;
  for (Search& search : searches_) {
    feed_one(search, bytes);
    bytes += std::exchange(search.held, {});
    search.state = PatternFinder::start;
  }
  return bytes;
}

}  // namespace cloche::egress
