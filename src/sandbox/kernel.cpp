#include "sandbox/kernel.hpp"

namespace cloche {

Status check_kernel(const std::string& runtime, Kernel expected, std::optional<bool> is_gvisor) {
  if (!is_gvisor || expected == Kernel::elsewhere || *is_gvisor == (expected == Kernel::own)) return {};
  // With gVisor the limit of processes is inside, and the host's is far higher. With Linux there is no other limit.
  const std::string text =
      *is_gvisor
          ? "' was expected to run programs on Linux, but runs them on gVisor; register gVisor by the path of runsc"
          : "' was expected to run programs on gVisor, because of its path or type, but runs them on Linux; "
            "register gVisor by the path of runsc, and this runtime by its own path";
  return fail(ErrorCode::unsupported, "the runtime '" + runtime + text);
}

}  // namespace cloche
