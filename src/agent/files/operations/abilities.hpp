// Kernel features for file operations. gVisor and older kernels lack some of them; then a slower way with the same
// rules is used.
#pragma once

namespace cloche::agent {

struct Abilities {
  bool openat2 = true;  // else paths are walked a component at a time
  bool tmpfile = true;  // else a file is written under a hidden temporary name
};

// The features of this process; openat2 is probed at the first call. Tests switch them off to test the slower way.
Abilities& abilities();

}  // namespace cloche::agent
