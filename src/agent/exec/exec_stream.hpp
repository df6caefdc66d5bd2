// ExecStream: a program in the foreground, bound to the stream that started it: the stream's end is its end.
#pragma once

#include <memory>

#include "agent/exec/program.hpp"
#include "agent/link/server_link.hpp"

namespace cloche::agent {

Result<std::unique_ptr<Stream>> open_exec_stream(ServerLink& link, wire::StreamId id, Loop& loop, Zygotes& zygotes,
                                                 WriterTracker& writers, const wire::ExecRequest& request);

// Does what an ExecSignal or ExecResize message asks; anything else is ignored.
void steer(Program& program, std::string_view message);

}  // namespace cloche::agent
