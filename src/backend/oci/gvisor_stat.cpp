#include "backend/oci/gvisor_stat.hpp"

#include "core/embedded_file.hpp"

CLOCHE_EMBED_FILE(gvisor_stat, CLOCHE_GVISOR_STAT);

namespace cloche::oci {

std::string_view gvisor_stat_library() { return CLOCHE_EMBEDDED(gvisor_stat); }

}  // namespace cloche::oci
