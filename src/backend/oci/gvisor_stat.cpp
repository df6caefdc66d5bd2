#include "backend/oci/gvisor_stat.hpp"

#include <cstddef>

asm(".section .rodata\n"
    ".balign 16\n"
    ".global cloche_gvisor_stat_start\n"
    ".hidden cloche_gvisor_stat_start\n"
    "cloche_gvisor_stat_start:\n"
    ".incbin \"" CLOCHE_GVISOR_STAT
    "\"\n"
    ".global cloche_gvisor_stat_end\n"
    ".hidden cloche_gvisor_stat_end\n"
    "cloche_gvisor_stat_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const char cloche_gvisor_stat_start[];
extern "C" const char cloche_gvisor_stat_end[];

namespace cloche::oci {

std::string_view gvisor_stat_library() {
  return {cloche_gvisor_stat_start, static_cast<std::size_t>(cloche_gvisor_stat_end - cloche_gvisor_stat_start)};
}

}  // namespace cloche::oci
