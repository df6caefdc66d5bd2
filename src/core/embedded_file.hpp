// CLOCHE_EMBED_FILE(name, "path"): the bytes of a file, put into the program at build time. It stands once, in a source
// file and outside of any namespace; the build must say that the source depends on the file. CLOCHE_EMBEDDED(name) is a
// std::string_view of them.
#pragma once

#include <cstddef>
#include <string_view>

#define CLOCHE_EMBED_FILE(name, path)            \
  asm(".section .rodata\n"                       \
      ".balign 16\n"                             \
      ".global cloche_" #name                    \
      "_start\n"                                 \
      ".hidden cloche_" #name                    \
      "_start\n"                                 \
      "cloche_" #name                            \
      "_start:\n"                                \
      ".incbin \"" path                          \
      "\"\n"                                     \
      ".global cloche_" #name                    \
      "_end\n"                                   \
      ".hidden cloche_" #name                    \
      "_end\n"                                   \
      "cloche_" #name                            \
      "_end:\n"                                  \
      ".byte 0\n"                                \
      ".text\n");                                \
  extern "C" const char cloche_##name##_start[]; \
  extern "C" const char cloche_##name##_end[]

#define CLOCHE_EMBEDDED(name) \
  std::string_view(cloche_##name##_start, static_cast<std::size_t>(cloche_##name##_end - cloche_##name##_start))
