// Ids and names of snapshots.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::snapshot {

// The letter, then 19 random characters of [a-z0-9].
std::string random_id(char letter);

inline constexpr char id_letter = 's';
// Whether the text has the form of a snapshot's id.
bool is_id(std::string_view text);
// A name is one that a volume could have, and does not have the form of an id.
Status check_name(std::string_view name);

}  // namespace cloche::snapshot
