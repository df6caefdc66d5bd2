#include "http/server/json_body.hpp"

#include <boost/json.hpp>

#include "json/strict_json.hpp"

namespace cloche::http {

namespace {

std::string_view take_part(std::string_view& text) {
  const auto end = std::min(text.find(';'), text.size());
  const std::string_view part = without_blanks_around(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool is_json(std::string_view type) {
  constexpr std::string_view family = "application/";
  constexpr std::string_view suffix = "+json";
  if (same_word(type, "application/json")) return true;
  return type.size() > family.size() + suffix.size() && same_word(type.substr(0, family.size()), family) &&
         same_word(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace

Status check_json_type(std::string_view content_type) {
  std::string_view rest = content_type;
  if (!is_json(take_part(rest))) {
    return fail(ErrorCode::unsupported, "the body must have the Content-Type application/json");
  }
  while (!rest.empty()) {
    const std::string_view parameter = take_part(rest);
    const bool other_charset = same_word(parameter.substr(0, 8), "charset=") &&
                               !same_word(parameter, "charset=utf-8") && !same_word(parameter, "charset=\"utf-8\"");
    if (other_charset) return fail(ErrorCode::unsupported, "JSON in another charset than UTF-8");
  }
  return {};
}

Result<boost::json::value> parse_json(std::string_view text, std::size_t depth) {
  auto value = parse_strict_json(text, depth);
  if (!value) return fail(std::move(value).error().at("the body"));
  return value;
}

Task<Result<boost::json::value>> read_json(Exchange& exchange, JsonLimits limits) {
  if (auto type = check_json_type(exchange.field("Content-Type")); !type) {
    exchange.reject_body(415, type.error().message);
    co_return fail(std::move(type).error());
  }
  CLOCHE_CO_TRY(const std::string text, co_await exchange.read_body(limits.size));
  co_return parse_json(text, limits.depth);
}

Task<Status> respond_json(Exchange& exchange, unsigned status, const boost::json::value& body) {
  std::string text = boost::json::serialize(body);
  Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  co_return co_await exchange.respond(status, std::move(fields), std::move(text));
}

}  // namespace cloche::http
