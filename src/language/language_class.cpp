#include "language/language_class.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cloche {

namespace {

bool is_word_start(unsigned char c) { return std::isalpha(c) || c == '_' || c == '$' || c >= 0x80; }
bool is_word(unsigned char c) { return is_word_start(c) || std::isdigit(c); }

// Words and single characters of a Java source; comments, literals and white space are left out.
class Tokens {
 public:
  explicit Tokens(std::string_view source) : rest_(source) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  // Empty at the end.
  std::string_view next() {
    while (!rest_.empty()) {
      const auto c = static_cast<unsigned char>(rest_.front());
      if (std::isspace(c)) {
        rest_.remove_prefix(1);
      } else if (rest_.starts_with("//")) {
        skip_to("\n", 2);
      } else if (rest_.starts_with("/*")) {
        skip_to("*/", 2);
      } else if (rest_.starts_with("\"\"\"")) {
        skip_literal("\"\"\"");
      } else if (c == '"') {
        skip_literal("\"");
      } else if (c == '\'') {
        skip_literal("'");
      } else {
        return take(is_word_start(c) ? word_length() : 1);
      }
    }
    return {};
  }

 private:
  std::string_view take(std::size_t length) {
    const std::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(token.size());
    return token;
  }

  std::size_t word_length() const {
    const auto end = std::ranges::find_if(rest_, [](unsigned char c) { return !is_word(c); });
    return static_cast<std::size_t>(end - rest_.begin());
  }

  void skip_to(std::string_view end, std::size_t from) {
    const auto found = rest_.find(end, from);
    rest_.remove_prefix(found == rest_.npos ? rest_.size() : found + end.size());
  }

  void skip_literal(std::string_view quote) {
    const bool may_have_lines = quote.size() == 3;
    std::size_t i = quote.size();
    for (; i < rest_.size() && rest_.substr(i, quote.size()) != quote; ++i) {
      if (rest_[i] == '\\') ++i;
      // An open quotation ends with its line, or one mistake would hide all that follows.
      if (!may_have_lines && i < rest_.size() && rest_[i] == '\n') return rest_.remove_prefix(i);
    }
    rest_.remove_prefix(std::min(i + quote.size(), rest_.size()));
  }

  std::string_view rest_;
};

class ClassFinder {
 public:
  JavaClass find(std::string_view source) {
    Tokens tokens(source);
    for (std::string_view token = tokens.next(); !token.empty() && !is_sure_; token = tokens.next()) {
      if (depth_ == 0) {
        at_top(token);
      } else if (depth_ == 1) {
        in_type(token);
      }
      count_braces(token);
      before_ = std::exchange(last_, token);
    }
    return found_;
  }

 private:
  static bool is_type_word(std::string_view token) {
    constexpr std::array words{"class", "interface", "enum", "record"};
    return std::ranges::find(words, token) != words.end();
  }

  void count_braces(std::string_view token) {
    if (token == "{") ++depth_;
    if (token == "}" && depth_ > 0) --depth_;
    if (token == "(") ++parentheses_;
    if (token == ")" && parentheses_ > 0) --parentheses_;
  }

  void at_top(std::string_view token) {
    if (in_package_) {
      in_package_ = token != ";";
      if (in_package_) found_.package += token;
    } else if (parentheses_ > 0) {
      return;  // an annotation's
    } else if (token == "package" && last_ != ".") {
      in_package_ = true;
    } else if (token == ";" || token == "}") {
      is_public_ = false;
    } else if (token == "public") {
      is_public_ = true;
    } else if (is_type_word(last_) && before_ != "." && is_word_start(static_cast<unsigned char>(token.front()))) {
      type_ = token;
      if (is_public_) settle();
    }
  }

  // `void main (` is enough: whether it is a good main is the compiler's to say.
  void in_type(std::string_view token) {
    if (!has_main_ && parentheses_ == 0 && token == "(" && last_ == "main" && before_ == "void" && !type_.empty()) {
      has_main_ = true;
      found_.name = type_;
    }
  }

  void settle() {
    found_.name = type_;
    is_sure_ = true;
  }

  JavaClass found_;
  std::string_view last_, before_, type_;
  std::size_t depth_ = 0, parentheses_ = 0;
  bool in_package_ = false, is_public_ = false, has_main_ = false, is_sure_ = false;
};

}  // namespace

JavaClass find_java_class(std::string_view source) { return ClassFinder().find(source); }

}  // namespace cloche
