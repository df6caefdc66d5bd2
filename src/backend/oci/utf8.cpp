#include "backend/oci/utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace cloche::oci {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80             ? 0
                     : (lead & 0xe0) == 0xc0 ? 1
                     : (lead & 0xf0) == 0xe0 ? 2
                     : (lead & 0xf8) == 0xf0 ? 3
                                             : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return false;
    std::uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      if ((next & 0xc0) != 0x80) return false;
      point = (point << 6) | (next & 0x3fu);
    }
    static constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

}  // namespace cloche::oci
