// Gunzip: a body with the coding gzip, decoded in pieces of a bounded size. No I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::http {

class Gunzip {
 public:
  Gunzip();
  Gunzip(Gunzip&&) noexcept;
  Gunzip& operator=(Gunzip&&) noexcept;
  ~Gunzip();

  // More of the body, after `next` has returned an empty piece.
  void feed(std::string piece);
  // The next decoded piece, at most 64 KiB however well it was compressed; empty if more of the body is needed.
  // `invalid_argument` if it is not gzip or its checksum is wrong. An error is final.
  Result<std::string> next();
  // Whether the body may end here.
  bool is_complete() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche::http
