// BareRelay: the hops of a connection that an agent accepts, without any work of agent and broker: a socket, a pipe, a
// socket, and between them nothing but copies. No relay that copies bytes over these hops can be faster on the same
// machine.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::bench {

class BareRelay {
 public:
  // Listens on the loopback and relays each connection to this port of it.
  static Result<std::unique_ptr<BareRelay>> start(std::uint16_t to);
  BareRelay(const BareRelay&) = delete;
  BareRelay& operator=(const BareRelay&) = delete;
  // Connections end when their sides do.
  ~BareRelay();

  std::uint16_t port() const { return port_; }

 private:
  BareRelay(UniqueFd listener, std::uint16_t port, std::uint16_t to);

  UniqueFd listener_;
  std::uint16_t port_;
  std::thread accepting_;
};

}  // namespace cloche::bench
