// Notes on a session: metadata of its caller, attributes of the dialect that made it.
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"

namespace cloche::session {

using Notes = std::map<std::string, std::string>;

// At most 64 pairs, keys of 1 to 128 bytes, values of at most 1 KiB, all UTF-8. `invalid_argument` says what is wrong.
Status check_metadata(const Notes& metadata);
// The same with values of at most 16 KiB.
Status check_attributes(const Notes& attributes);

// Whether all pairs of `wanted` are in `metadata`.
bool has_all(const Notes& metadata, const Notes& wanted);

}  // namespace cloche::session
