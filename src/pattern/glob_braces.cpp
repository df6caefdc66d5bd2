#include "pattern/glob_braces.hpp"

#include <iterator>

namespace cloche {

namespace {

constexpr std::size_t most_bytes = std::size_t{256} * 1024;
constexpr int deepest = 32;

class Expander {
 public:
  explicit Expander(std::string_view pattern) : rest_(pattern) {}

  Result<std::vector<std::string>> run() {
    CLOCHE_TRY(auto all, sequence(0));
    if (!rest_.empty())
      return fail(ErrorCode::invalid_argument, "pattern has an unmatched `}`; escape it with a backslash");
    return all;
  }

 private:
  using Alternatives = std::vector<std::string>;

  // Text and groups, up to the comma or brace that ends it; at the outermost level a comma is text.
  Result<Alternatives> sequence(int depth) {
    Alternatives all(1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '}' || (c == ',' && depth > 0)) break;
      Alternatives tails;
      if (c == '{') {
        CLOCHE_TRY(tails, group(depth + 1));
      } else {
        tails.push_back(text(depth));
      }
      CLOCHE_TRY(all, product(all, tails));
    }
    return all;
  }

  Result<Alternatives> group(int depth) {
    if (depth > deepest) return fail(ErrorCode::invalid_argument, "pattern has braces nested too deeply");
    Alternatives all;
    do {
      rest_.remove_prefix(1);  // the brace or comma before
      CLOCHE_TRY(auto some, sequence(depth));
      std::move(some.begin(), some.end(), std::back_inserter(all));
      if (all.size() > most_alternatives) return too_many();
    } while (rest_.starts_with(','));
    if (rest_.empty()) return fail(ErrorCode::invalid_argument, "pattern has an unclosed `{`");
    rest_.remove_prefix(1);
    return all;
  }

  std::string text(int depth) {
    std::size_t length = 0;
    while (length < rest_.size()) {
      const char c = rest_[length];
      if (c == '{' || c == '}' || (c == ',' && depth > 0)) break;
      length += c == '\\' && length + 1 < rest_.size() ? 2 : 1;
    }
    std::string taken(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return taken;
  }

  static Result<Alternatives> product(const Alternatives& heads, const Alternatives& tails) {
    if (heads.size() * tails.size() > most_alternatives) return too_many();
    Alternatives all;
    std::size_t bytes = 0;
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) {
        bytes += head.size() + tail.size();
        if (bytes > most_bytes) return fail(ErrorCode::invalid_argument, "pattern is too long after brace expansion");
        all.push_back(head + tail);
      }
    }
    return all;
  }

  static std::unexpected<Error> too_many() {
    return fail(ErrorCode::invalid_argument,
                "pattern has more than " + std::to_string(most_alternatives) + " alternatives in braces");
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<std::string>> expand_braces(std::string_view pattern) { return Expander(pattern).run(); }

}  // namespace cloche
