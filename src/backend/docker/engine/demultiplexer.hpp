// Demultiplexer: separates stdout and stderr in the stream of an attached container. No I/O.
//
// The engine puts 8 bytes before each piece: the stream's number, three zeros, and the length, big-endian. Bytes may be
// split anywhere, even in the middle of those eight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cloche/output.hpp"
#include "core/result.hpp"

namespace cloche::docker {

struct Piece {
  Stream stream = Stream::out;
  std::string_view bytes;  // points into what was given to next()
};

class Demultiplexer {
 public:
  // Takes the next piece off the front of `bytes`; nothing when all of them are used up. Never an empty piece.
  // `protocol` when a header is not one of the engine's: nothing after it can be trusted, and every later call fails.
  Result<std::optional<Piece>> next(std::string_view& bytes);

  // False when an end of the stream here would cut a header or a piece short.
  bool is_between_pieces() const { return have_ == 0 && left_ == 0; }

 private:
  static constexpr std::size_t header_size = 8;

  Status read_header();

  std::array<unsigned char, header_size> header_{};
  std::size_t have_ = 0;    // bytes of the header that came
  std::uint32_t left_ = 0;  // bytes of the piece still to come
  Stream stream_ = Stream::out;
  bool broken_ = false;
};

}  // namespace cloche::docker
