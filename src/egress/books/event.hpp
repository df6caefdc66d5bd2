// EgressEvent: one decision or end in the books of a sandbox's way out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "egress/policy/address.hpp"

namespace cloche::egress {

// How the program asked.
enum class Protocol {
  http_connect,  // CONNECT of the proxy
  http,          // a request that the broker reads
  socks,         // SOCKS5
  tcp,           // a connection of a program that uses no proxy
};
std::string_view to_string(Protocol protocol);

enum class Outcome {
  allowed,     // the connection or request begins
  closed,      // it has ended; the counts are final
  denied,      // the policy refused it
  failed,      // name resolution, connecting, the server, or the broker itself
  over_quota,  // a limit of the sandbox or its tenant; also after it was allowed
  ended,       // by the service: the policy changed, the sandbox was returned, nothing was transferred for too long
};
std::string_view to_string(Outcome outcome);

// `allowed` is followed by one event with the same id that is not `allowed`. Any other event without one before it
// is a refusal.
struct EgressEvent {
  std::uint64_t number = 0;  // of this sandbox's books, from 1, without gaps
  std::uint64_t id = 0;      // of the connection or request
  std::chrono::system_clock::time_point time;
  std::string tenant;
  std::string where;  // session, lease or run
  Protocol protocol = Protocol::tcp;
  std::string host;  // name or address as the program gave it, normalized; empty: not understood
  std::optional<Address> address;
  std::uint16_t port = 0;
  std::string method;            // of a request that was read
  std::string path;              // without the query: secrets travel there
  unsigned status = 0;           // of the response; 0: none
  std::string rule;              // that decided; empty: none
  std::string secret;            // the name of the secret that was put on; empty: none
  std::uint64_t bytes_up = 0;    // to the server
  std::uint64_t bytes_down = 0;  // from the server
  Outcome outcome = Outcome::allowed;
  std::string reason;  // for people; empty where there is nothing to say
  std::chrono::milliseconds duration{};
};

// One line of JSON, without a line break: as the log, the API and `--json` show it. Members without a value are absent.
std::string to_json(const EgressEvent& event);

}  // namespace cloche::egress
