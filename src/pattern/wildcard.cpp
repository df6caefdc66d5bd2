#include "pattern/wildcard.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace cloche {

namespace {

std::uint32_t take_character(std::string_view& text) {
  const Character character = first_character(text);
  text.remove_prefix(character.length);
  return character.code;
}

}  // namespace

Result<Wildcard> Wildcard::compile(std::string_view pattern) {
  Wildcard wildcard;
  wildcard.starts_with_dot_ = pattern.starts_with('.') || pattern.starts_with("\\.");
  std::string_view rest = pattern;
  bool sets = true;  // after an unclosed bracket no other one is tried: that keeps the time linear
  while (!rest.empty()) {
    if (rest.front() == '*') {
      // Several stars in a row are one.
      if (wildcard.tokens_.empty() || wildcard.tokens_.back().kind != Kind::star)
        wildcard.tokens_.push_back({Kind::star});
      rest.remove_prefix(1);
      continue;
    }
    if (rest.front() == '?') {
      wildcard.tokens_.push_back({Kind::any});
      rest.remove_prefix(1);
      continue;
    }
    if (rest.front() == '[' && sets) {
      CLOCHE_TRY(sets, wildcard.take_set(rest));
      if (sets) continue;
    } else if (rest.front() == '\\') {
      rest.remove_prefix(1);
      if (rest.empty()) return fail(ErrorCode::invalid_argument, "pattern ends with a backslash");
    }
    wildcard.tokens_.push_back({Kind::literal, take_character(rest)});
  }
  return wildcard;
}

// Takes a whole `[..]`; false, and nothing is taken, when it has no end.
Result<bool> Wildcard::take_set(std::string_view& text) {
  std::string_view rest = text.substr(1);
  Set set;
  if (rest.starts_with('!') || rest.starts_with('^')) {
    set.negated = true;
    rest.remove_prefix(1);
  }
  for (bool first = true; !rest.empty(); first = false) {
    if (rest.front() == ']' && !first) {
      rest.remove_prefix(1);
      tokens_.push_back({Kind::set, static_cast<std::uint32_t>(sets_.size())});
      sets_.push_back(std::move(set));
      text = rest;
      return true;
    }
    if (rest.starts_with("[:") || rest.starts_with("[=") || rest.starts_with("[.")) {
      return fail(ErrorCode::invalid_argument,
                  "pattern contains a character class such as [:alpha:], which is not supported");
    }
    const auto take = [&rest] {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
      return take_character(rest);
    };
    const std::uint32_t low = take();
    std::uint32_t high = low;
    // A dash before the closing bracket is an ordinary one.
    if (rest.size() > 1 && rest.front() == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = take();
    }
    set.ranges.emplace_back(low, high);
  }
  return false;
}

bool Wildcard::token_matches(const Token& token, std::uint32_t character) const {
  switch (token.kind) {
    case Kind::literal: return token.value == character;
    case Kind::any: return true;
    case Kind::set: {
      const Set& set = sets_[token.value];
      const bool inside = std::any_of(set.ranges.begin(), set.ranges.end(), [character](const auto& range) {
        return range.first <= character && character <= range.second;
      });
      return inside != set.negated;
    }
    case Kind::star: break;
  }
  return false;
}

bool Wildcard::matches(std::string_view name) const {
  // Only the last star seen ever needs to match more: whatever an earlier one could match, the later one can, too.
  std::size_t at = 0;
  bool star_seen = false;
  std::size_t after_star = 0;
  std::string_view retry;
  while (!name.empty()) {
    if (at < tokens_.size() && tokens_[at].kind == Kind::star) {
      star_seen = true;
      after_star = ++at;
      retry = name;
      continue;
    }
    const Character character = first_character(name);
    if (at < tokens_.size() && token_matches(tokens_[at], character.code)) {
      ++at;
      name.remove_prefix(character.length);
      continue;
    }
    if (!star_seen) return false;
    retry.remove_prefix(first_character(retry).length);
    name = retry;
    at = after_star;
  }
  return std::all_of(tokens_.begin() + static_cast<std::ptrdiff_t>(at), tokens_.end(),
                     [](const Token& token) { return token.kind == Kind::star; });
}

}  // namespace cloche
