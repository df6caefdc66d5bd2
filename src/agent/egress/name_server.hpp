// NameServer: answers the sandbox's questions for names, on its loopback. It asks no other server.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/egress/name_table.hpp"
#include "agent/link/loop.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

class NameServer {
 public:
  // already_exists if the port is in use. The table outlives the server.
  static Result<std::unique_ptr<NameServer>> listen(Loop& loop, std::uint16_t port, NameTable& names);

 private:
  NameServer(Loop& loop, UniqueFd socket, NameTable& names);
  void on_readable();

  UniqueFd socket_;
  NameTable& names_;
  Loop::FdWatcher watch_;
};

}  // namespace cloche::agent
