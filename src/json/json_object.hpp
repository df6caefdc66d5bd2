// JsonObject: the fields of a JSON object, read with their types. Every error names the field and what is wanted.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "json/json.hpp"

namespace cloche {

class JsonObject {
 public:
  // The value outlives the object. `where` is for errors: "the body", "files[2]".
  static Result<JsonObject> of(const json::value& value, std::string where);

  // Fields that are null count as absent.
  bool has(std::string_view name);
  Result<std::string> text(std::string_view name);
  Result<std::string> text(std::string_view name, std::string otherwise);
  Result<bool> flag(std::string_view name, bool otherwise);
  // A whole number within these bounds.
  Result<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most);
  Result<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise);
  // Seconds, with a fraction if need be; more than nothing.
  Result<std::chrono::milliseconds> seconds(std::string_view name, std::chrono::milliseconds most,
                                            std::chrono::milliseconds otherwise);
  Result<std::vector<std::string>> texts(std::string_view name);
  // An object of strings, such as an environment.
  Result<std::map<std::string, std::string>> text_map(std::string_view name);
  Result<std::string> base64(std::string_view name);
  // nullptr when it is absent.
  const json::value* find(std::string_view name);
  const json::object& fields() const { return *object_; }
  std::string place_of(std::string_view name) const { return where_ + ": " + std::string(name); }

  // Rejects unknown fields.
  Status finish() const;

 private:
  JsonObject(const json::object& object, std::string where) : object_(&object), where_(std::move(where)) {}
  std::unexpected<Error> wrong(std::string_view name, std::string_view wanted) const;

  const json::object* object_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace cloche
