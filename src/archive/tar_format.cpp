#include "archive/tar_format.hpp"

#include <limits>

namespace cloche::tar {

namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

std::optional<std::uint64_t> base_256(std::string_view digits) {
  // The first byte's high bit says base 256, its next one is the sign.
  if ((digits.front() & 0x40) != 0) return std::nullopt;
  std::uint64_t value = static_cast<unsigned char>(digits.front()) & 0x3f;
  for (const char digit : digits.substr(1)) {
    if (value > largest >> 8) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(digit);
  }
  return value;
}

std::optional<std::uint64_t> octal(std::string_view digits) {
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  std::uint64_t value = 0;
  while (!digits.empty() && digits.front() >= '0' && digits.front() <= '7') {
    if (value > largest >> 3) return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(digits.front() - '0');
    digits.remove_prefix(1);
  }
  if (!digits.empty() && digits.front() != ' ' && digits.front() != '\0') return std::nullopt;
  return value;
}

template <class Byte>
std::int64_t sum(std::string_view block) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= checksum_field.offset && i < checksum_field.offset + checksum_field.size;
    total += own ? ' ' : static_cast<Byte>(block[i]);
  }
  return total;
}

}  // namespace

std::string_view bytes_of(std::string_view block, Field field) { return block.substr(field.offset, field.size); }

std::string_view text_of(std::string_view block, Field field) {
  const auto bytes = bytes_of(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

std::optional<std::uint64_t> number_of(std::string_view block, Field field) {
  const auto bytes = bytes_of(block, field);
  return (bytes.front() & 0x80) != 0 ? base_256(bytes) : octal(bytes);
}

bool checksum_holds(std::string_view block) {
  const auto told = octal(bytes_of(block, checksum_field));
  if (!told) return false;
  const auto wanted = static_cast<std::int64_t>(*told);
  return wanted == sum<unsigned char>(block) || wanted == sum<signed char>(block);
}

std::uint32_t checksum_of(std::string_view block) { return static_cast<std::uint32_t>(sum<unsigned char>(block)); }

std::size_t padding_after(std::uint64_t size) { return static_cast<std::size_t>(-size % block_size); }

std::optional<std::string> clean_path(std::string_view path) {
  if (path.starts_with('/') || path.find('\0') != std::string_view::npos) return std::nullopt;
  std::string clean;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto component = path.substr(0, slash);
    if (component == "..") return std::nullopt;
    if (!component.empty() && component != ".") {
      if (!clean.empty()) clean += '/';
      clean += component;
    }
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return clean;
}

}  // namespace cloche::tar
