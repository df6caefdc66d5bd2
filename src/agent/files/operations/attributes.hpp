// What is told of a file only on request: its extended attributes, and where a symbolic link leads. Only attributes
// user.* are set and told, as many and as large as the protocol allows.
#pragma once

#include <string>

#include "agent/files/tree/paths.hpp"
#include "core/result.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

// invalid_argument for another name, limit_reached for too many or too large ones.
Status check_attributes(const wire::TextMap& attributes);

// Of an open file. `unsupported` if its file system has none.
Status set_attributes(int file, const wire::TextMap& attributes);

// Those that the user may read; none if there are more than allowed, or if the file system has none. The descriptor may
// be one of O_PATH.
wire::TextMap read_attributes(int file);

// The details of the file `name` in `parent`, which is not followed. `path` is the same file from the base, by whose
// rule a link is.
void add_details(const Base& base, int parent, const char* name, const std::string& path, wire::FileEntry& entry);

}  // namespace cloche::agent
