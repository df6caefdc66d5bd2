// Limits of a server: sizes, counts and times.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "cloche/bytes.hpp"

namespace cloche::http {

struct HeadLimits {
  Bytes size = kib(16);  // all of it, the request line included
  Bytes request_line = kib(8);
  std::size_t fields = 100;
};

// How many bytes of request and response bodies a tenant may have in memory at a time.
struct TenantBodies {
  Bytes most = mib(128);
  std::map<std::string, Bytes, std::less<>> named;  // instead of that, for the tenants that are named

  Bytes of(std::string_view tenant) const {
    const auto found = named.find(tenant);
    return found == named.end() ? most : found->second;
  }
};

struct ServerLimits {
  using Span = std::chrono::steady_clock::duration;

  HeadLimits head;
  Bytes body = mib(1);           // of a request, unless its handler allows another amount before it reads
  Bytes body_budget = mib(512);  // of all bodies that are held in memory at a time
  Bytes drained = kib(256);      // what is read and dropped of a body that the handler left, to keep the connection
  std::size_t connections = 1024;
  std::size_t requests_per_connection = 10'000;

  Span handshake = std::chrono::seconds(10);  // of TLS
  Span head_time = std::chrono::seconds(10);  // from a request's first byte to the end of its head
  Span idle = std::chrono::seconds(75);       // between two requests
  // A body is waited for one window at a time: in each it must bring what the rate asks of a window, or end. Being fast
  // earns nothing for later.
  Span body_window = std::chrono::seconds(20);
  Bytes body_rate = kib(16);  // a second
  // The same for bodies that hold memory which others have just been refused.
  Span pressed_window = std::chrono::seconds(2);
  Bytes pressed_rate = kib(512);
  Span write_stall = std::chrono::seconds(30);  // longest time in which the client takes nothing of an answer
  Span linger = std::chrono::seconds(2);        // for the client to read the last answer before the connection is cut
};

}  // namespace cloche::http
