#include "json/json_object.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>

#include "core/base64.hpp"

namespace cloche {

Result<JsonObject> JsonObject::of(const json::value& value, std::string where) {
  if (!value.is_object()) return fail(ErrorCode::invalid_argument, where + " must be a JSON object");
  return JsonObject(value.get_object(), std::move(where));
}

const json::value* JsonObject::find(std::string_view name) {
  known_.emplace(name);
  const json::value* found = object_->if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool JsonObject::has(std::string_view name) { return find(name) != nullptr; }

std::unexpected<Error> JsonObject::wrong(std::string_view name, std::string_view wanted) const {
  return fail(ErrorCode::invalid_argument, place_of(name) + " must be " + std::string(wanted));
}

Result<std::string> JsonObject::text(std::string_view name) {
  const json::value* found = find(name);
  if (found == nullptr) return fail(ErrorCode::invalid_argument, place_of(name) + " is missing");
  if (!found->is_string()) return wrong(name, "a string");
  return std::string(found->get_string());
}

Result<std::string> JsonObject::text(std::string_view name, std::string otherwise) {
  return has(name) ? text(name) : Result<std::string>(std::move(otherwise));
}

Result<bool> JsonObject::flag(std::string_view name, bool otherwise) {
  const json::value* found = find(name);
  if (found == nullptr) return otherwise;
  if (!found->is_bool()) return wrong(name, "true or false");
  return found->get_bool();
}

Result<std::int64_t> JsonObject::number(std::string_view name, std::int64_t least, std::int64_t most) {
  const json::value* found = find(name);
  if (found == nullptr) return fail(ErrorCode::invalid_argument, place_of(name) + " is missing");
  const std::string wanted = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!found->is_int64() && !found->is_uint64()) return wrong(name, wanted);
  boost::system::error_code too_large;
  const auto number = found->to_number<std::int64_t>(too_large);
  if (too_large || number < least || number > most) return wrong(name, wanted);
  return number;
}

Result<std::int64_t> JsonObject::number(std::string_view name, std::int64_t least, std::int64_t most,
                                        std::int64_t otherwise) {
  return has(name) ? number(name, least, most) : Result<std::int64_t>(otherwise);
}

Result<std::chrono::milliseconds> JsonObject::seconds(std::string_view name, std::chrono::milliseconds most,
                                                      std::chrono::milliseconds otherwise) {
  const json::value* found = find(name);
  if (found == nullptr) return otherwise;
  if (!found->is_number()) return wrong(name, "a number of seconds");
  const double seconds = found->to_number<double>();
  const double longest = std::chrono::duration<double>(most).count();
  if (!std::isfinite(seconds) || seconds < 0.001 || seconds > longest) {
    return wrong(name, "a number of seconds greater than 0 and at most " + std::to_string(most.count() / 1000));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<std::vector<std::string>> JsonObject::texts(std::string_view name) {
  std::vector<std::string> all;
  const json::value* found = find(name);
  if (found == nullptr) return all;
  if (!found->is_array()) return wrong(name, "a list of strings");
  for (const json::value& each : found->get_array()) {
    if (!each.is_string()) return wrong(name, "a list of strings");
    all.emplace_back(each.get_string());
  }
  return all;
}

Result<std::map<std::string, std::string>> JsonObject::text_map(std::string_view name) {
  std::map<std::string, std::string> all;
  const json::value* found = find(name);
  if (found == nullptr) return all;
  if (!found->is_object()) return wrong(name, "an object of strings");
  for (const auto& [key, value] : found->get_object()) {
    if (!value.is_string()) return wrong(name, "an object of strings");
    all.emplace(key, value.get_string());
  }
  return all;
}

Result<std::string> JsonObject::base64(std::string_view name) {
  CLOCHE_TRY(const std::string encoded, text(name));
  auto decoded = decode_base64(encoded);
  if (!decoded) return wrong(name, "base64");
  return std::move(*decoded);
}

Status JsonObject::finish() const {
  for (const auto& [name, value] : *object_) {
    if (known_.contains(std::string_view(name))) continue;
    std::string all;
    for (const std::string& known : known_) all += (all.empty() ? "" : ", ") + known;
    return fail(ErrorCode::invalid_argument, place_of(name) + " is not known; known fields: " + all);
  }
  return {};
}

}  // namespace cloche
