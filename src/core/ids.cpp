#include "core/ids.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "core/text.hpp"

namespace cloche {

std::string random_bytes(std::size_t count) {
  std::string raw(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t n = ::getrandom(raw.data() + have, count - have, 0);
    if (n < 0 && errno == EINTR) continue;  // early after the boot it waits, and a signal may come
    if (n < 0) std::abort();                // no randomness, no ids: nothing sensible can follow
    have += static_cast<std::size_t>(n);
  }
  return raw;
}

std::string random_hex(std::size_t bytes) { return to_hex(random_bytes(bytes)); }

}  // namespace cloche
