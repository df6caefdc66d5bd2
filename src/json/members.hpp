// Members of a JSON object that have a type: a member of another type is as good as a missing one.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche {

inline const boost::json::value* any_member(const boost::json::object& object, std::string_view name) {
  return object.if_contains(boost::json::string_view(name.data(), name.size()));
}

inline std::optional<std::string_view> text_member(const boost::json::object& object, std::string_view name) {
  const auto* value = any_member(object, name);
  if (!value || !value->is_string()) return std::nullopt;
  return std::string_view(value->get_string().data(), value->get_string().size());
}

inline std::optional<std::int64_t> number_member(const boost::json::object& object, std::string_view name) {
  const auto* value = any_member(object, name);
  return value && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

inline std::optional<bool> flag_member(const boost::json::object& object, std::string_view name) {
  const auto* value = any_member(object, name);
  return value && value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

inline const boost::json::array* array_member(const boost::json::object& object, std::string_view name) {
  const auto* value = any_member(object, name);
  return value ? value->if_array() : nullptr;
}

inline const boost::json::object* object_member(const boost::json::object& object, std::string_view name) {
  const auto* value = any_member(object, name);
  return value ? value->if_object() : nullptr;
}

}  // namespace cloche
