// Refusal: why a request is not served, as its client is told.
#pragma once

#include <expected>
#include <string>

namespace cloche::http {

struct Refusal {
  unsigned status = 400;
  std::string why;
};

template <class T>
using OrRefusal = std::expected<T, Refusal>;

inline std::unexpected<Refusal> refuse(unsigned status, std::string why) {
  return std::unexpected(Refusal{status, std::move(why)});
}

}  // namespace cloche::http
