// What the kernel offers to file operations. gVisor and older kernels lack some of it; then a longer way with the same
// rules is taken.
#pragma once

namespace cloche::agent {

struct Abilities {
  bool openat2 = true;  // else paths are walked a component at a time
  bool tmpfile = true;  // else a file is written under a hidden temporary name
};

// Those of this process, openat2 probed at the first call. Tests switch them off to take the longer way.
Abilities& abilities();

}  // namespace cloche::agent
