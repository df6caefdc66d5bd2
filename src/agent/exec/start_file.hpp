// The file that a program is started with, such as its source: written by the agent itself, just before.
#pragma once

#include "core/result.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// As the user, who owns the file and the directories that are created for it. The name must not exist.
Status write_start_file(const wire::StartFile& file, uid_t uid, gid_t gid);

}  // namespace cloche::agent
