#include "backend/docker/engine/target.hpp"

#include <cctype>

namespace cloche::docker {

std::string percent_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return encoded;
}

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    path.append(1, std::exchange(separator, '&'))
        .append(percent_encode(name))
        .append("=")
        .append(percent_encode(value));
  }
  return path;
}

}  // namespace cloche::docker
