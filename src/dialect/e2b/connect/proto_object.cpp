#include "dialect/e2b/connect/proto_object.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base64.hpp"
#include "json/members.hpp"

namespace cloche::dialect::e2b::connect {

namespace {

std::string snake_case(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c;
    }
  }
  return snake;
}

std::string text_of(const json::value& value) { return std::string(std::string_view(value.get_string())); }

// As JSON writes whole numbers: 5, "5", 5.0, 5e0.
std::optional<std::int64_t> whole_number(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return std::nullopt;  // larger than any int64
  if (value.is_double()) {
    const double number = value.get_double();
    constexpr double largest = 9007199254740992.0;
    if (!(std::abs(number) <= largest) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (!value.is_string()) return std::nullopt;
  const std::string_view digits = value.get_string();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<ProtoObject> ProtoObject::of(const json::value& value, std::string where) {
  if (!value.is_object()) return fail(ErrorCode::invalid_argument, where + " must be a JSON object");
  return ProtoObject(value.get_object(), std::move(where));
}

Result<const json::value*> ProtoObject::find(std::string_view name) const {
  const json::value* found = any_member(*object_, name);
  const std::string snake = snake_case(name);
  if (snake != name) {
    const json::value* other = any_member(*object_, snake);
    if (found != nullptr && other != nullptr)
      return fail(ErrorCode::invalid_argument, where_ + ": duplicate field " + std::string(name));
    if (found == nullptr) found = other;
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::unexpected<Error> ProtoObject::wrong(std::string_view name, std::string_view wanted) const {
  return fail(ErrorCode::invalid_argument, where_ + ": " + std::string(name) + " must be " + std::string(wanted));
}

Result<bool> ProtoObject::has(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  return found != nullptr;
}

Result<std::optional<std::string>> ProtoObject::optional_text(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) return wrong(name, "a string");
  return text_of(*found);
}

Result<std::string> ProtoObject::text(std::string_view name) const {
  CLOCHE_TRY(auto found, optional_text(name));
  return std::move(found).value_or(std::string());
}

Result<bool> ProtoObject::flag(std::string_view name, bool otherwise) const {
  CLOCHE_TRY(const json::value* found, find(name));
  if (found == nullptr) return otherwise;
  if (!found->is_bool()) return wrong(name, "true or false");
  return found->get_bool();
}

Result<std::uint32_t> ProtoObject::uint32(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  if (found == nullptr) return 0U;
  const auto number = whole_number(*found);
  if (!number || *number < 0 || *number > UINT32_MAX) return wrong(name, "a whole number from 0 to 4294967295");
  return static_cast<std::uint32_t>(*number);
}

Result<std::string> ProtoObject::bytes(std::string_view name) const {
  CLOCHE_TRY(std::string encoded, text(name));
  std::ranges::replace(encoded, '-', '+');
  std::ranges::replace(encoded, '_', '/');
  if (encoded.find('=') == std::string::npos) encoded.append((4 - encoded.size() % 4) % 4, '=');
  auto decoded = decode_base64(encoded);
  if (!decoded) return wrong(name, "bytes in base64");
  return std::move(*decoded);
}

Result<int> ProtoObject::enumeration(std::string_view name, std::span<const EnumName> names) const {
  CLOCHE_TRY(const json::value* found, find(name));
  if (found == nullptr) return 0;
  if (found->is_string()) {
    const std::string_view wanted = found->get_string();
    const auto named = std::ranges::find(names, wanted, &EnumName::name);
    if (named != names.end()) return named->number;
    return wrong(name, "the name or the number of a value");
  }
  const auto number = whole_number(*found);
  if (!number || *number < INT32_MIN || *number > INT32_MAX) return wrong(name, "the name or the number of a value");
  return static_cast<int>(*number);
}

Result<std::vector<std::string>> ProtoObject::texts(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  std::vector<std::string> all;
  if (found == nullptr) return all;
  if (!found->is_array()) return wrong(name, "a list of strings");
  for (const json::value& each : found->get_array()) {
    if (!each.is_string()) return wrong(name, "a list of strings");
    all.push_back(text_of(each));
  }
  return all;
}

Result<std::map<std::string, std::string>> ProtoObject::text_map(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  std::map<std::string, std::string> all;
  if (found == nullptr) return all;
  if (!found->is_object()) return wrong(name, "an object of strings");
  for (const auto& member : found->get_object()) {
    if (!member.value().is_string()) return wrong(name, "an object of strings");
    all.emplace(std::string_view(member.key()), text_of(member.value()));
  }
  return all;
}

Result<std::optional<ProtoObject>> ProtoObject::message(std::string_view name) const {
  CLOCHE_TRY(const json::value* found, find(name));
  if (found == nullptr) return std::nullopt;
  if (!found->is_object()) return wrong(name, "an object");
  return ProtoObject(found->get_object(), where_ + ": " + std::string(name));
}

}  // namespace cloche::dialect::e2b::connect
