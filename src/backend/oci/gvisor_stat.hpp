// The library gvisor_stat.c, as bytes.
#pragma once

#include <string_view>

namespace cloche::oci {

std::string_view gvisor_stat_library();

}  // namespace cloche::oci
