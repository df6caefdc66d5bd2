// EgressOrigin: the server that programs reach through the broker, or directly, and the client that asks it. Both are
// Python, so that the same client runs on the host and in sandboxes.
#pragma once

#include <cstdint>
#include <string>

#include "bench/host_programs.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

// What the client does. Times are printed in ms, rates in MiB/s, one in a line.
struct EgressTask {
  const char* what;         // new, kept: HTTPS requests over new connections, over one; down, up: bytes; hold
  int count = 0;            // requests, MiB or connections
  std::uint16_t port = 0;   // of the origin
  std::uint16_t proxy = 0;  // of the loopback; 0: directly
};
std::string egress_client(const EgressTask& task);

class EgressOrigin {
 public:
  // On the loopback, with a certificate for `localhost` of an authority of its own.
  static Result<EgressOrigin> start(Surroundings& surroundings);

  std::uint16_t https_port() const { return https_port_; }
  std::uint16_t secret_port() const { return secret_port_; }  // HTTPS too
  std::uint16_t raw_port() const { return raw_port_; }
  // A file with the certificate of its authority.
  const std::string& authority() const { return authority_; }

  // Until so many connections are held, since the start.
  Status wait_until_held(int count, Deadline deadline);

 private:
  EgressOrigin(Helper child, std::string authority) : child_(std::move(child)), authority_(std::move(authority)) {}

  Helper child_;
  std::string authority_;
  std::uint16_t https_port_ = 0;
  std::uint16_t secret_port_ = 0;
  std::uint16_t raw_port_ = 0;
};

}  // namespace cloche::bench
