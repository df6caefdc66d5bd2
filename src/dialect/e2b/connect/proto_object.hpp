// ProtoObject: a message of protocol buffers in JSON. Fields that are absent, or null, have their default value;
// unknown ones are ignored. A field may have the name of its JSON form (lowerCamelCase) or of its definition
// (snake_case).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "json/json.hpp"

namespace cloche::dialect::e2b::connect {

struct EnumName {
  std::string_view name;
  int number;
};

// Every error is `invalid_argument` and names the field.
class ProtoObject {
 public:
  // The value outlives the object. `where` is for errors.
  static Result<ProtoObject> of(const json::value& value, std::string where = "message");

  // Names are those of the JSON form.
  Result<bool> has(std::string_view name) const;
  Result<std::string> text(std::string_view name) const;
  Result<std::optional<std::string>> optional_text(std::string_view name) const;
  Result<bool> flag(std::string_view name, bool otherwise = false) const;
  // A number, or a text of digits.
  Result<std::uint32_t> uint32(std::string_view name) const;
  // Base64 of either alphabet, with or without padding.
  Result<std::string> bytes(std::string_view name) const;
  // By name or number. A number without a name is returned as it is, an unknown name is an error.
  Result<int> enumeration(std::string_view name, std::span<const EnumName> names) const;
  Result<std::vector<std::string>> texts(std::string_view name) const;
  Result<std::map<std::string, std::string>> text_map(std::string_view name) const;
  Result<std::optional<ProtoObject>> message(std::string_view name) const;

 private:
  ProtoObject(const json::object& object, std::string where) : object_(&object), where_(std::move(where)) {}
  // nullptr if it is absent.
  Result<const json::value*> find(std::string_view name) const;
  std::unexpected<Error> wrong(std::string_view name, std::string_view wanted) const;

  const json::object* object_;
  std::string where_;
};

}  // namespace cloche::dialect::e2b::connect
