// One component of a glob pattern: `*`, `?`, `[..]` against a name. A character is a UTF-8 sequence, or a byte if the
// name is not UTF-8. The time is at most the product of both lengths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace cloche {

class Wildcard {
 public:
  // `[abc]`, `[a-z]`, `[!abc]` or `[^abc]`; an unclosed bracket is an ordinary character, as in a shell. A backslash
  // escapes the next character; invalid_argument if there is none, and for `[:class:]`.
  static Result<Wildcard> compile(std::string_view pattern);

  bool matches(std::string_view name) const;
  // Whether the pattern begins with a dot itself, and so may match hidden names.
  bool starts_with_dot() const { return starts_with_dot_; }

 private:
  enum class Kind { literal, any, set, star };
  struct Set {
    bool negated = false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  };
  struct Token {
    Kind kind = Kind::literal;
    std::uint32_t value = 0;  // of a literal its character, of a set its index
  };

  Result<bool> take_set(std::string_view& rest);
  bool token_matches(const Token& token, std::uint32_t character) const;

  std::vector<Token> tokens_;
  std::vector<Set> sets_;
  bool starts_with_dot_ = false;
};

}  // namespace cloche
