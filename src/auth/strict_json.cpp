#include "auth/strict_json.hpp"

#include <boost/json/value.hpp>

#include "json/strict_json.hpp"

namespace cloche::auth {

namespace json = boost::json;

Result<json::object> parse_strict_object(std::string_view text, std::size_t depth) {
  CLOCHE_TRY(json::value value, parse_strict_json(text, depth));
  if (!value.is_object()) return fail(ErrorCode::invalid_argument, "not a JSON object");
  return std::move(value.get_object());
}

std::optional<std::string_view> text_member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (!value || !value->is_string()) return std::nullopt;
  return std::string_view(value->get_string().data(), value->get_string().size());
}

}  // namespace cloche::auth
