// Background execs: programs that outlive the stream, and even the server, that started them.
//
// Their output is kept here, up to the limit in the request, for clients that attach.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/exec/program.hpp"
#include "agent/link/server_link.hpp"

namespace cloche::agent {

class BackgroundExec;

class Background {
 public:
  Background(Loop& loop, Zygotes& zygotes, WriterTracker& writers)
      : loop_(loop), zygotes_(zygotes), writers_(writers) {}
  ~Background();

  // Each opens a stream; the first starts a program, reports the start and closes.
  Result<std::unique_ptr<Stream>> open_start(ServerLink& link, wire::StreamId id, wire::ExecRequest request);
  Result<std::unique_ptr<Stream>> open_attach(ServerLink& link, wire::StreamId id,
                                              const wire::ExecAttachRequest& request);
  Result<std::unique_ptr<Stream>> open_list(ServerLink& link, wire::StreamId id);

  std::size_t size() const { return execs_.size(); }
  // Ends and forgets them all.
  void clear();

 private:
  // Kept output and programs cost the sandbox's memory and processes.
  static constexpr std::size_t most = 64;

  Loop& loop_;
  Zygotes& zygotes_;
  WriterTracker& writers_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::shared_ptr<BackgroundExec>> execs_;
};

}  // namespace cloche::agent
