#include "json/strict_json.hpp"

#include "json/json_reader.hpp"

namespace cloche {

Result<boost::json::value> parse_strict_json(std::string_view text, std::size_t depth) {
  JsonRules rules;
  rules.depth = depth;
  rules.values = text.size() + 1;
  rules.unnamed = rules.values;
  rules.name = "the text";
  JsonReader reader(rules);
  CLOCHE_CHECK(reader.feed(text));
  return reader.finish();
}

}  // namespace cloche
