// Kernel: whether the programs of a sandbox share the host's kernel, and what that counts, with their neighbours, or
// have one of their own (gVisor).
#pragma once

namespace cloche {

enum class Kernel { shared, own };

}  // namespace cloche
