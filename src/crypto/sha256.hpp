// SHA-256: of bytes, of a stream, of a file.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
Result<std::string> sha256_hex_of_file(const std::string& path);

// Bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  // The object is used up.
  Digest digest();
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lower-case hexadecimal digits; only those are read back.
std::string to_hex(const Digest& digest);
std::optional<Digest> digest_from_hex(std::string_view digits);

}  // namespace cloche
