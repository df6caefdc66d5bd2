// Heads of messages on connections whose TLS the broker ends: what is left out of a request so that its response can be
// searched for secrets, and what a response must be like for that. No I/O.
#pragma once

#include <string_view>
#include <vector>

#include "egress/policy/policy.hpp"
#include "egress/secrets/put_secret.hpp"
#include "egress/secrets/redactor.hpp"
#include "http/message.hpp"

namespace cloche::egress {

// The rule whose secret goes on this request; nullptr: none.
const Rule* find_secret_rule(const Policy& policy, const Destination& destination, std::string_view method,
                             std::string_view path);
// Names of all secrets that go to this host, on whatever port and request: its responses may contain any of them.
std::vector<std::string> secrets_of_host(const Policy& policy, const Destination& destination);

// The fields of a request without what is about one connection, and changed so that the server sends whole bodies, and
// none that are compressed: no ranges, no extensions of WebSocket, `Accept-Encoding: identity`.
http::Fields searchable_request_fields(const http::Fields& fields);

// `protocol` if the body is compressed, although that was not asked for.
Status check_searchable(const http::Response& head);

// With every name and value searched.
http::Fields redacted_fields(const http::Fields& fields, Redactor& redactor);

}  // namespace cloche::egress
