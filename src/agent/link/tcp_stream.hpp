// TcpStream: a connection to a port of the sandbox's own loopback, relayed over a stream.
#pragma once

#include <memory>

#include "agent/link/server_link.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

Result<std::unique_ptr<Stream>> open_tcp_stream(ServerLink& link, wire::StreamId id, Loop& loop,
                                                const wire::TcpRequest& request);

}  // namespace cloche::agent
