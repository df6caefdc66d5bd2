// LoadWatch: says when a pool's load has become another one, and only then.
#pragma once

#include <cstdint>
#include <optional>

namespace cloche::pool {

enum class Load { normal, moderate, high };

class LoadWatch {
 public:
  // `wanted` of `limit` sandboxes are leased or waited for. Returns the new load if it has changed. It rises at 70 %
  // and 90 % and falls 5 points below, so that a pool at the threshold is not logged every second.
  std::optional<Load> update(std::uint64_t wanted, std::uint64_t limit);

 private:
  Load load_ = Load::normal;
};

}  // namespace cloche::pool
