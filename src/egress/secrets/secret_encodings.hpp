// The forms in which a secret may come back in a response. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::egress {

// Each once: as it is; in base64 and base64url, in each of the three places that it can have among other bytes, without
// the characters at its ends that also depend on these; percent-encoded as common libraries do it; in hexadecimal
// digits of either case; as in JSON and in HTML.
std::vector<std::string> encodings_of(std::string_view secret);

}  // namespace cloche::egress
