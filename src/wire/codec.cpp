#include "wire/codec.hpp"

namespace cloche::wire {

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

bool take_varint(std::string_view& in, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;  // more than 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

std::optional<std::uint64_t> kind_of(std::string_view bytes) {
  std::uint64_t kind = 0;
  if (!take_varint(bytes, kind)) return std::nullopt;
  return kind;
}

}  // namespace cloche::wire
