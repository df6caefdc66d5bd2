// Peer: the other end of a connection, as reported by the kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace cloche::http {

struct Peer {
  // The credentials of a local process that connected over a Unix socket.
  struct Process {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
  };

  std::string address;  // "192.0.2.1" or "2001:db8::1"; empty for a unix socket
  std::uint16_t port = 0;
  std::string local_address;  // of our end; empty for a unix socket
  std::uint16_t local_port = 0;
  std::optional<Process> process;
  bool encrypted = false;

  bool is_local() const { return process.has_value(); }
  // "192.0.2.1:4711", "[2001:db8::1]:4711" or "unix:pid=17,uid=0".
  std::string describe() const;
};

}  // namespace cloche::http
