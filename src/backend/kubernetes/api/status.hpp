// Errors of a Kubernetes API server: from a `Status` object to an Error that says what to do. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/message.hpp"
#include "json/lenient_json.hpp"

namespace cloche::kubernetes {

// `what`: the request, for people: `POST /api/v1/namespaces/x/pods`.
// permission_denied names what to grant; a reached quota is limit_reached; 409 is already_exists; 410 and 422 are
// invalid_argument.
Error error_of(const std::string& what, unsigned status, std::string_view body);
// The same of a `Status` object in a stream.
Error error_of(const std::string& what, const json::value& status);

// When to come back; zero if the response does not say, at most a minute.
std::chrono::seconds retry_after(const http::Response& response);

// Printable, on one line and not too long: texts of a cluster for errors and logs.
std::string tidy(std::string_view text);

}  // namespace cloche::kubernetes
