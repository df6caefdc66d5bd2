#include "runner/autograder/shell_words.hpp"

#include <utility>

namespace cloche::runner {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Characters that a backslash escapes within double quotes; before anything else the backslash is literal.
bool is_special_in_quotes(char c) { return c == '"' || c == '\\' || c == '$' || c == '`'; }

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  std::optional<std::vector<std::string>> split() {
    while (!rest_.empty()) {
      if (!step()) return std::nullopt;
    }
    end_word();
    return std::move(words_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void add(char c) {
    word_ += c;
    in_word_ = true;
  }

  void end_word() {
    if (in_word_) words_.push_back(std::exchange(word_, {}));
    in_word_ = false;
  }

  bool step() {
    const char c = take();
    if (is_blank(c)) {
      end_word();
      return true;
    }
    if (c == '\'') return take_single_quoted();
    if (c == '"') return take_double_quoted();
    if (c != '\\') {
      add(c);
      return true;
    }
    if (rest_.empty()) return false;
    const char escaped = take();
    if (escaped != '\n') add(escaped);  // a continued line
    return true;
  }

  bool take_single_quoted() {
    const auto end = rest_.find('\'');
    if (end == std::string_view::npos) return false;
    word_ += rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    in_word_ = true;  // an empty one, too
    return true;
  }

  bool take_double_quoted() {
    in_word_ = true;
    while (!rest_.empty()) {
      const char c = take();
      if (c == '"') return true;
      const bool escapes = c == '\\' && !rest_.empty();
      if (escapes && rest_.front() == '\n') {
        take();
      } else {
        add(escapes && is_special_in_quotes(rest_.front()) ? take() : c);
      }
    }
    return false;
  }

  std::string_view rest_;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

std::optional<std::vector<std::string>> split_words(std::string_view line) { return Splitter(line).split(); }

std::vector<std::string> command_argv(std::string_view line) {
  if (auto words = split_words(line)) return std::move(*words);
  return {"/bin/sh", "-c", std::string(line)};
}

}  // namespace cloche::runner
