#include "egress/broker/forwarded_head.hpp"

#include "egress/broker/route.hpp"
#include "http/server/answer/answer_head.hpp"

namespace cloche::egress {

namespace {

bool asks_for_websocket(const http::Exchange& exchange) {
  return exchange.method() == "GET" && !exchange.has_body() &&
         http::list_has(exchange.field("Connection"), "upgrade") &&
         http::list_has(exchange.field("Upgrade"), "websocket");
}

bool expects_content(const std::string& method) { return method == "POST" || method == "PUT" || method == "PATCH"; }

}  // namespace

http::ForwardedRequest forwarded_request(const http::Exchange& exchange, const Destination& destination) {
  ForwardedParts parts{authority_of(destination), exchange.target().path, exchange.fields()};
  if (!exchange.target().query.empty()) parts.target += "?" + exchange.target().query;
  return forwarded_request(exchange, parts);
}

http::ForwardedRequest forwarded_request(const http::Exchange& exchange, const ForwardedParts& parts) {
  http::ForwardedRequest request;
  request.has_body = exchange.has_body();
  if (const auto size = exchange.announced_size(); size && request.has_body) request.length = size->count;
  // Servers expect an explicit length of zero.
  if (!request.has_body && expects_content(exchange.method())) request.length = 0;
  request.upgrades = asks_for_websocket(exchange);
  std::string& head = request.head;
  const auto add = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  head = exchange.method() + " " + parts.target + " HTTP/1.1\r\n";
  add("Host", parts.host);
  for (const auto& [name, value] : http::without_hop_by_hop(parts.fields)) {
    // Our server answers Expect itself.
    if (!same_word(name, "Host") && !same_word(name, "Expect")) add(name, value);
  }
  if (request.upgrades) {
    add("Connection", "Upgrade");
    add("Upgrade", "websocket");
  }
  if (request.length) {
    add("Content-Length", std::to_string(*request.length));
  } else if (request.has_body) {
    add("Transfer-Encoding", "chunked");
  }
  head += "\r\n";
  return request;
}

Result<http::Fields> forwarded_fields(const http::Response& head) {
  http::Fields fields = http::without_hop_by_hop(head.fields);
  std::erase_if(fields,
                [](const auto& field) { return !http::is_token(field.first) || !http::is_field_value(field.second); });
  return fields;
}

Result<http::Fields> forwarded_upgrade_fields(const http::Response& head) {
  CLOCHE_TRY(http::Fields fields, forwarded_fields(head));
  fields.emplace_back("Upgrade", "websocket");
  return fields;
}

}  // namespace cloche::egress
