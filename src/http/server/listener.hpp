// Listener: one socket that clients connect to. Private to this folder.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "http/server/server.hpp"

namespace cloche::http {

// A client that has just connected.
struct Arrival {
  Peer peer;
  std::unique_ptr<Stream> stream;  // none when TLS has to be negotiated first
  std::function<Task<Result<std::unique_ptr<Stream>>>(Deadline)> handshake;
};

class Listener {
 public:
  virtual ~Listener() = default;

  // `cancelled` once the listener is closed, `limit_reached` when the machine is short of something.
  virtual Task<Result<Arrival>> accept() = 0;
  virtual void close() = 0;
  virtual const ListensOn& where() const = 0;

  // Reads the certificate again and returns what puts it in force; nothing for a listener that has none.
  virtual Result<std::function<void()>> prepare_reload() = 0;
};

// Opens the sockets of one listen address: a name may resolve to several addresses.
Task<Result<std::vector<std::unique_ptr<Listener>>>> open_listeners(Executor executor, const ListenOn& listen);

}  // namespace cloche::http
