// Retained: the bytes of one direction from a known offset on, at most so many, until they are released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::relay {

// Offsets count from the beginning of the conversation.
class Retained {
 public:
  explicit Retained(std::size_t capacity) : capacity_(capacity) {}

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return begin_ + size(); }
  std::size_t size() const { return bytes_.size() - head_; }
  std::size_t room() const { return capacity_ - size(); }

  // Keeps as many as there is room for, and returns how many that are.
  std::size_t append(std::string_view bytes);
  // At most so many bytes from this offset on, which is in [begin, end]. Valid until the next change.
  std::string_view from(std::uint64_t offset, std::size_t most) const;
  // Drops all before this offset. `protocol` if it is not in [begin, end]; then nothing changes.
  Status release_to(std::uint64_t offset);
  // Drops all that is kept; end() is begin() then.
  void forget();

 private:
  std::size_t capacity_;
  std::uint64_t begin_ = 0;
  std::string bytes_;     // released ones first
  std::size_t head_ = 0;  // how many of them are released
};

}  // namespace cloche::relay
