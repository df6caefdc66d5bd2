#include "http/message.hpp"

#include <algorithm>

#include "http/grammar.hpp"

namespace cloche::http {

namespace {

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Result<std::string> serialise_head(const Request& request, std::string_view host, std::string_view connection) {
  if (!is_token(request.method))
    return fail(ErrorCode::invalid_argument, "invalid HTTP method: '" + request.method + "'");
  if (!is_target(request.target))
    return fail(ErrorCode::invalid_argument, "invalid HTTP target: '" + request.target + "'");
  if (!is_field_value(host)) return fail(ErrorCode::invalid_argument, "invalid host: '" + std::string(host) + "'");
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: ";
  head.append(host).append("\r\nConnection: ").append(connection).append("\r\n");
  for (const auto& [name, value] : request.fields) {
    if (!is_token(name) || !is_field_value(value))
      return fail(ErrorCode::invalid_argument, "invalid HTTP header field: '" + name + "'");
    head.append(name).append(": ").append(value).append("\r\n");
  }
  if (request.source) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  return head += "\r\n";
}

}  // namespace cloche::http
