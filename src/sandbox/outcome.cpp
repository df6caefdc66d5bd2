#include "cloche/outcome.hpp"

namespace cloche {

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::exited: return "exited";
    case Ending::signalled: return "signalled";
    case Ending::wall_limit: return "wall_limit";
    case Ending::cpu_limit: return "cpu_limit";
    case Ending::memory_limit: return "memory_limit";
    case Ending::output_limit: return "output_limit";
    case Ending::not_started: return "not_started";
    case Ending::cancelled: return "cancelled";
  }
  return "exited";
}

}  // namespace cloche
