#include "core/ids.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "core/text.hpp"

namespace cloche {

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  for (std::size_t have = 0; have < bytes;) {
    const ssize_t n = ::getrandom(raw.data() + have, bytes - have, 0);
    if (n < 0 && errno == EINTR) continue;  // early after the boot it waits, and a signal may come
    if (n < 0) std::abort();                // no randomness, no ids: nothing sensible can follow
    have += static_cast<std::size_t>(n);
  }
  return to_hex(raw);
}

}  // namespace cloche
