// JsonReader: builds a JSON value from text that arrives in pieces, and checks it against a shape while it does. What
// does not fit is refused at the byte that shows it, so a hostile text never costs more memory than a valid one. No
// I/O.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "json/json.hpp"
#include "json/shape.hpp"

namespace cloche {

struct JsonRules {
  std::size_t depth = 32;
  std::size_t values = 20'000;   // in all, keys included; each costs up to a hundred bytes beside its text
  std::size_t unnamed = 20'000;  // of them in what a shape does not describe further: `shapes::anything`
  const Shape* shape = &shapes::anything;
  std::string_view name = "the body";  // in errors
};

class JsonReader {
 public:
  explicit JsonReader(const JsonRules& rules);
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;
  ~JsonReader();

  // `invalid_argument` when it is not JSON in UTF-8, nested too deeply, has a key twice in an object (at any depth and
  // however it is escaped), or does not have the shape; `limit_reached` when it has too many values. An error is final.
  Status feed(std::string_view piece);
  // The text has ended.
  Result<json::value> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche
