// Relay: bytes both ways between a program and a server. The end of one side is passed on to the other, which may still
// send. Between two sockets of this process the bytes stay in the kernel.
#pragma once

#include <functional>
#include <string>

#include "core/async/task.hpp"
#include "egress/broker/kernel_pipe.hpp"
#include "http/stream.hpp"

namespace cloche::egress {

struct RelayOptions {
  Deadline::Clock::duration idle = std::chrono::minutes(5);
  // Reads the program's first bytes, which are passed on when it returns; what the server sends is passed on meanwhile.
  // Its error ends the relay.
  std::function<Task<Result<std::string>>()> first_bytes;
  std::shared_ptr<KernelPipes> pipes;  // none: all bytes are copied
};

// Until both sides have ended. `timeout` if nothing was transferred for too long; else the error of a stream. After an
// error the caller closes both.
Task<Status> relay(http::Stream& program, http::Stream& server, RelayOptions options);

}  // namespace cloche::egress
