// JSON in the body of a request, and in that of an answer.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "http/server/exchange.hpp"

namespace cloche::http {

struct JsonLimits {
  Bytes size = mib(1);
  std::size_t depth = 32;
};

// Reads the body as JSON. `unsupported` when its type is another (415), `invalid_argument` when it is not JSON in UTF-8
// or nested too deeply; otherwise as `Exchange::read_body`.
Task<Result<boost::json::value>> read_json(Exchange& exchange, JsonLimits limits = {});

// The parts of it that need no I/O.
Status check_json_type(std::string_view content_type);
Result<boost::json::value> parse_json(std::string_view text, std::size_t depth);

Task<Status> respond_json(Exchange& exchange, unsigned status, const boost::json::value& body);

}  // namespace cloche::http
