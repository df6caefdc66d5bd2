#include "json/strict_json.hpp"

#include "json/json_reader.hpp"

namespace cloche {

Result<json::value> parse_strict_json(std::string_view text, std::size_t depth) {
  JsonRules rules;
  rules.depth = depth;
  rules.values = text.size() + 1;
  rules.unnamed = rules.values;
  rules.name = "the text";
  JsonReader reader(rules);
  CLOCHE_CHECK(reader.feed(text));
  return reader.finish();
}

Result<json::object> parse_strict_object(std::string_view text, std::size_t depth) {
  CLOCHE_TRY(json::value value, parse_strict_json(text, depth));
  if (!value.is_object()) return fail(ErrorCode::invalid_argument, "not a JSON object");
  return std::move(value.get_object());
}

}  // namespace cloche
