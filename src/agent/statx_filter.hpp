// A kernel that refuses statx() with the flags that coreutils always gives (the gVisor of Debian 12) breaks `ls PATH`
// and `stat`. Programs there are told that it has no such call at all: then the C library does the same by older calls.
#pragma once

namespace cloche::agent {

// For this process and what it becomes; nothing where statx() is in order. It must have given up new privileges before.
// False when the filter could not be put in.
bool hide_broken_statx();

}  // namespace cloche::agent
