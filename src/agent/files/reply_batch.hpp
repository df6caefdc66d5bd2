// Long answers in replies of bounded size.
#pragma once

#include <cstddef>

#include "agent/files/file_request.hpp"

namespace cloche::agent {

class ReplyBatch {
 public:
  explicit ReplyBatch(const FileIo& io) : io_(io) {}

  Status add(wire::FileEntry entry);
  Status add(wire::GrepMatch match);
  // Sends what is left; `last` brings the counts.
  Status finish(wire::FileReply last);

 private:
  Status send_when_full();

  const FileIo& io_;
  wire::FileReply waiting_;
  std::size_t bytes_ = 0;
};

// The requested limit or the default; never more than a million, so that every walk ends.
std::uint64_t result_cap(std::uint64_t asked, std::uint64_t fallback);

}  // namespace cloche::agent
