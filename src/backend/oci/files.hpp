// Small steps on the host's file system: whole files, directories, trees. Nothing here follows a symbolic link that a
// sandbox could have made: all paths are Cloche's own.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

// The whole file; limit_reached when it is larger than `most`. Works for files of /proc and of cgroups.
Result<std::string> read_file(const std::string& path, Bytes most = mib(4));

// Makes the file, or replaces its content.
Status write_file(const std::string& path, std::string_view content, mode_t mode);
// The same, but who looks sees the old content or the new one, also after a crash.
Status write_file_atomically(const std::string& path, std::string_view content, mode_t mode);
// Writes to a control file of the kernel: in one write, to an existing file.
Status write_control(const std::string& path, std::string_view value);

// Creates a directory with exactly this mode; an existing directory is left unchanged.
Status make_directory(const std::string& path, mode_t mode);
// Including its parents, each with this mode.
Status make_directories(const std::string& path, mode_t mode);

// The names in a directory, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// Removes a file or a whole tree. Nothing there is fine. Never follows a link, never enters another mount.
Status remove_tree(const std::string& path);

bool path_exists(const std::string& path);

// "/a/b" of "/a/b/c"; "/" of "/a".
std::string parent_of(const std::string& path);

}  // namespace cloche::oci
