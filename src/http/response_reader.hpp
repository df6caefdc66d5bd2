// ResponseReader: bytes in, one HTTP response out, within limits. No I/O.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace cloche::http {

struct ReaderLimits {
  Bytes head = kib(64);
  Bytes body = mib(8);
};

enum class BodyRule {
  as_announced,
  none,  // the answer to HEAD, and what follows a switch of protocols
};

class ResponseReader {
 public:
  ResponseReader(ReaderLimits limits, BodyRule rule);
  ~ResponseReader();

  // Consumes what it can use and returns the size of that. The rest must be offered again with more bytes, or, after
  // done() (for BodyRule::none: after head_done()), belongs to what follows. `protocol` if the bytes are not an HTTP
  // response, `limit_reached` if a part is too long.
  Result<std::size_t> feed(std::string_view bytes);
  // The stream ended: fine when the body ends with it, else `unavailable`.
  Status end_of_stream();

  bool head_done() const;
  bool done() const;
  // True when the connection can be used for another request after this response.
  bool keeps_alive() const;

  // Status and fields; complete once head_done().
  const Response& head() const;
  // The bytes of the body since the last call.
  std::string take_body();

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cloche::http
