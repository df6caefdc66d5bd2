// The identity of an instance: a random id, made once and kept in the instance's directory.
//
// Names and directories are chosen by people and may be the same for two servers. Only this id distinguishes the
// sandboxes of one server from those of another.
#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"

namespace cloche {

// A new id, unique in the world: 20 hexadecimal digits.
std::string new_owner_id();
bool is_owner_id(std::string_view text);

// Reads the id from the directory, or creates one. Call it with the directory's lock held. The file also contains its
// path, so that a copy of the directory can be distinguished from a moved one: already_exists for a copy.
Result<std::string> ensure_identity(const std::string& directory);

// The id that a directory keeps; nothing when it keeps none.
std::optional<std::string> identity_in(const std::string& directory);

}  // namespace cloche
