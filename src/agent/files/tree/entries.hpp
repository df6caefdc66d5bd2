// The properties of a file, as in replies.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <expected>
#include <string>

#include "wire/file_messages.hpp"

namespace cloche::agent {

// A program can give its files times that no 64 bits of nanoseconds hold; such a time is the nearest that is.
std::int64_t nanoseconds(const timespec& time);

wire::FileEntry entry_of(const struct stat& status, std::string path);

// The file of this name, a link itself and not what it leads to; or errno.
std::expected<wire::FileEntry, int> describe(int parent, const char* name, std::string path);

}  // namespace cloche::agent
