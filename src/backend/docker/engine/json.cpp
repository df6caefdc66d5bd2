#include "backend/docker/engine/json.hpp"

namespace cloche::docker::json {

Result<value> parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 32;
  boost::system::error_code code;
  value parsed = boost::json::parse(boost::json::string_view(text.data(), text.size()), code, {}, options);
  if (code) return fail(ErrorCode::protocol, "invalid JSON: " + code.message());
  return parsed;
}

const value* find(const value& in, std::string_view name) {
  return in.is_object() ? in.get_object().if_contains(boost::json::string_view(name.data(), name.size())) : nullptr;
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

}  // namespace cloche::docker::json
