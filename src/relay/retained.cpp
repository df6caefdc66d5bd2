#include "relay/retained.hpp"

#include <algorithm>
#include <cassert>

namespace cloche::relay {

namespace {

// More memory than this is returned when nothing is kept.
constexpr std::size_t idle_capacity = 64 * 1024;

}  // namespace

std::size_t Retained::append(std::string_view bytes) {
  // Rarely: as many bytes have gone as are moved at most.
  if (head_ >= capacity_) {
    bytes_.erase(0, head_);
    head_ = 0;
  }
  const std::string_view kept = bytes.substr(0, room());
  bytes_.append(kept);
  return kept.size();
}

std::string_view Retained::from(std::uint64_t offset, std::size_t most) const {
  assert(offset >= begin_ && offset <= end());
  return std::string_view(bytes_).substr(head_ + static_cast<std::size_t>(offset - begin_), most);
}

Status Retained::release_to(std::uint64_t offset) {
  if (offset < begin_ || offset > end()) {
    return fail(ErrorCode::protocol, "offset " + std::to_string(offset) + " is not in " + std::to_string(begin_) +
                                         " to " + std::to_string(end()));
  }
  head_ += static_cast<std::size_t>(offset - begin_);
  begin_ = offset;
  if (head_ == bytes_.size()) forget();
  return {};
}

void Retained::forget() {
  head_ = 0;
  bytes_.clear();
  if (bytes_.capacity() > idle_capacity) bytes_.shrink_to_fit();
}

}  // namespace cloche::relay
