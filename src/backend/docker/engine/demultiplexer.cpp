#include "backend/docker/engine/demultiplexer.hpp"

#include <algorithm>
#include <string>

namespace cloche::docker {

Result<std::optional<Piece>> Demultiplexer::next(std::string_view& bytes) {
  if (broken_) return fail(ErrorCode::protocol, "the attached stream has already failed");
  while (left_ == 0) {
    const std::size_t count = std::min(bytes.size(), header_size - have_);
    std::copy_n(bytes.begin(), count, header_.begin() + static_cast<std::ptrdiff_t>(have_));
    bytes.remove_prefix(count);
    have_ += count;
    if (have_ < header_size) return std::nullopt;
    CLOCHE_CHECK(read_header());
  }
  if (bytes.empty()) return std::nullopt;
  const std::size_t count = std::min<std::size_t>(bytes.size(), left_);
  const Piece piece{stream_, bytes.substr(0, count)};
  bytes.remove_prefix(count);
  left_ -= static_cast<std::uint32_t>(count);
  return piece;
}

Status Demultiplexer::read_header() {
  have_ = 0;
  const bool known = header_[0] == 1 || header_[0] == 2;
  if (!known || header_[1] != 0 || header_[2] != 0 || header_[3] != 0) {
    broken_ = true;
    return fail(ErrorCode::protocol,
                "the attached stream has a header of an unknown kind: " + std::to_string(header_[0]));
  }
  stream_ = header_[0] == 1 ? Stream::out : Stream::err;
  left_ =
      std::uint32_t{header_[4]} << 24 | std::uint32_t{header_[5]} << 16 | std::uint32_t{header_[6]} << 8 | header_[7];
  return {};
}

}  // namespace cloche::docker
