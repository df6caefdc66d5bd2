// Whether bytes are text that JSON can carry.
#pragma once

#include <string_view>

namespace cloche::oci {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace cloche::oci
