// FileStream: one file operation, done by a forked worker under the user's rights, its bytes relayed over a stream.
//
// A worker that hangs on something the user made can be killed without harm to anything else.
#pragma once

#include <memory>

#include "agent/link/server_link.hpp"
#include "agent/reset/writer_tracker.hpp"
#include "wire/file_messages.hpp"

namespace cloche::agent {

Result<std::unique_ptr<Stream>> open_file_stream(ServerLink& link, wire::StreamId id, Loop& loop,
                                                 WriterTracker& writers, const wire::FileRequest& request);

}  // namespace cloche::agent
