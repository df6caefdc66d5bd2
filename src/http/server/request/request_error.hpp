// RequestError: why a request is not served, as reported to the client.
#pragma once

#include <expected>
#include <string>

namespace cloche::http {

struct RequestError {
  unsigned status = 400;
  std::string why;
};

template <class T>
using OrRequestError = std::expected<T, RequestError>;

inline std::unexpected<RequestError> refuse(unsigned status, std::string why) {
  return std::unexpected(RequestError{status, std::move(why)});
}

}  // namespace cloche::http
