// Redactor: overwrites secrets in bytes that come in pieces, wherever the pieces are cut. No I/O.
//
// It is a best effort: it finds a secret in the forms of encodings_of. A server that reverses, splits, compresses or
// encrypts what it received gets past it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "egress/secrets/pattern_finder.hpp"

namespace cloche::egress {

// The replacement is as long as what it replaces, so lengths that were announced stay right.
class Redactor {
 public:
  static constexpr char mark = '*';

  // One finder for each secret.
  explicit Redactor(const std::vector<std::shared_ptr<const PatternFinder>>& secrets);

  // Takes a piece and returns what is certain by now. The rest, which may be the beginning of a secret, is returned by
  // a later call.
  std::string feed(std::string_view piece);
  // What is left at the end of the bytes. The redactor can be used again.
  std::string finish();

  // A text that is complete. Not between `feed` and `finish`.
  std::string whole(std::string_view text);

 private:
  struct Search {
    std::shared_ptr<const PatternFinder> finder;
    PatternFinder::State state = PatternFinder::start;
    std::string held;
  };
  static void feed_one(Search& search, std::string& piece);

  std::vector<Search> searches_;  // the output of one is the input of the next
};

}  // namespace cloche::egress
