// Bytes from text.
#pragma once

#include <string_view>

#include "cloche/bytes.hpp"
#include "core/result.hpp"

namespace cloche {

// Reads "512m", "64MiB", "1g", "4096": decimal number, optional unit of powers of 1024, whatever the case.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace cloche
