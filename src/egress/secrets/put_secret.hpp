// Putting a secret on a request. No I/O.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "egress/policy/rule.hpp"
#include "http/fields.hpp"

namespace cloche::egress {

// The parts of a request that a secret can be put on.
struct RequestParts {
  std::string path;   // percent-encoded
  std::string query;  // percent-encoded, without the question mark
  http::Fields fields;

  std::string target() const { return query.empty() ? path : path + "?" + query; }
};

// `invalid_argument` if no secret can be put on a request this way: no name, a header that belongs to the connection or
// to the message's framing, a template without `{secret}`, a user with a colon.
Status check_secret_use(const SecretUse& use);

// What the program sent in the same place is removed: headers of that name (`_` and `-` are the same to many servers),
// and query parameters of that name, in any encoding. So the request has the secret once, and a placeholder does not
// reach the server. `protocol` if the program's query cannot be decoded; `invalid_argument`, without the value, if the
// secret has characters that cannot be there. After an error the request must not be sent.
Status put_secret_on(RequestParts& request, const SecretUse& use, std::string_view secret);

}  // namespace cloche::egress
