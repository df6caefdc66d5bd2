// What a server puts up with: how much, how many, how long.
#pragma once

#include <chrono>
#include <cstddef>

#include "cloche/bytes.hpp"

namespace cloche::http {

struct HeadLimits {
  Bytes size = kib(16);  // all of it, the request line included
  Bytes request_line = kib(8);
  std::size_t fields = 100;
};

struct ServerLimits {
  using Span = std::chrono::steady_clock::duration;

  HeadLimits head;
  Bytes body = mib(1);       // of a request, unless its handler allows another amount before it reads
  Bytes drained = kib(256);  // what is read and dropped of a body that the handler left, to keep the connection
  std::size_t connections = 1024;
  std::size_t requests_per_connection = 10'000;

  Span handshake = std::chrono::seconds(10);     // of TLS
  Span head_time = std::chrono::seconds(10);     // from a request's first byte to the end of its head
  Span idle = std::chrono::seconds(75);          // between two requests
  Span body_silence = std::chrono::seconds(30);  // longest pause in a body
  Bytes body_rate = {256};                       // least amount a second, once the grace is used up
  Span body_grace = std::chrono::seconds(10);
  Span write_stall = std::chrono::seconds(30);  // longest time in which the client takes nothing of an answer
  Span linger = std::chrono::seconds(2);        // for the client to read the last answer before the connection is cut
};

}  // namespace cloche::http
