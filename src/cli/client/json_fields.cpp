#include "cli/client/json_fields.hpp"

#include <boost/json/array.hpp>

#include "core/base64.hpp"

namespace cloche::cli {

namespace json = boost::json;

std::string text_in(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t number_in(const json::object& object, std::string_view name) {
  return static_cast<std::int64_t>(real_in(object, name));
}

double real_in(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
}

bool flag_in(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

std::vector<json::object> objects_in(const json::value& value, std::string_view name) {
  std::vector<json::object> objects;
  const json::value* list = value.is_object() ? value.get_object().if_contains(name) : nullptr;
  if (list == nullptr || !list->is_array()) return objects;
  for (const json::value& each : list->get_array()) {
    if (each.is_object()) objects.push_back(each.get_object());
  }
  return objects;
}

std::string bytes_in(const json::object& object, std::string_view name) {
  const std::string encoded = text_in(object, std::string(name) + "_base64");
  if (auto decoded = decode_base64(encoded); decoded && !encoded.empty()) return std::move(*decoded);
  return text_in(object, name);
}

}  // namespace cloche::cli
