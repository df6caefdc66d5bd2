#include "json/lenient_json.hpp"

#include "core/base64.hpp"

namespace cloche::json {

Result<value> parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 32;
  boost::system::error_code code;
  value parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), code, {}, options);
  if (code) return fail(ErrorCode::protocol, "invalid JSON: " + code.message());
  return parsed;
}

Result<object> parse_object(std::string_view text) {
  CLOCHE_TRY(value parsed, parse(text));
  if (!parsed.is_object()) return fail(ErrorCode::protocol, "not a JSON object");
  return std::move(parsed.get_object());
}

const value* find(const object& in, std::string_view name) {
  return in.if_contains(boost::json::string_view(name.data(), name.size()));
}

const value* find(const value& in, std::string_view name) {
  return in.is_object() ? find(in.get_object(), name) : nullptr;
}

std::string text(const value* found) {
  return found && found->is_string() ? std::string(found->get_string().data(), found->get_string().size())
                                     : std::string();
}

std::int64_t number(const value* found) {
  if (!found || !found->is_number()) return 0;
  boost::system::error_code code;
  const auto result = found->to_number<std::int64_t>(code);
  return code ? 0 : result;
}

double real(const value* found) {
  if (!found || !found->is_number()) return 0;
  boost::system::error_code code;
  const double result = found->to_number<double>(code);
  return code ? 0 : result;
}

bool truth(const value* found) { return found && found->is_bool() && found->get_bool(); }

std::vector<std::string> texts(const value* found) {
  std::vector<std::string> result;
  if (!found || !found->is_array()) return result;
  for (const value& item : found->get_array()) {
    if (item.is_string()) result.push_back(text(&item));
  }
  return result;
}

std::vector<object> objects(const value* found) {
  std::vector<object> result;
  if (!found || !found->is_array()) return result;
  for (const value& item : found->get_array()) {
    if (item.is_object()) result.push_back(item.get_object());
  }
  return result;
}

std::vector<std::string> names(const value* found) {
  std::vector<std::string> result;
  if (!found || !found->is_object()) return result;
  for (const auto& member : found->get_object()) result.emplace_back(member.key().data(), member.key().size());
  return result;
}

std::map<std::string, std::string> text_map(const value* found) {
  std::map<std::string, std::string> result;
  if (!found || !found->is_object()) return result;
  for (const auto& member : found->get_object()) {
    if (member.value().is_string())
      result.emplace(std::string(member.key().data(), member.key().size()), text(&member.value()));
  }
  return result;
}

std::string bytes(const object& in, std::string_view name) {
  const std::string encoded = text(in, std::string(name) + "_base64");
  if (auto decoded = decode_base64(encoded); decoded && !encoded.empty()) return std::move(*decoded);
  return text(in, name);
}

}  // namespace cloche::json
