// The events of a watch on their way to the server. The pipe may be full, and the server may read slowly: while much
// waits, no event is taken from the kernel, whose queue is bounded. What is too much then is one event `overflow`.
#pragma once

#include <cstddef>
#include <string>

#include "wire/file_messages.hpp"

namespace cloche::agent {

class WatchOutput {
 public:
  // The descriptor becomes non-blocking.
  explicit WatchOutput(int fd);

  void add(wire::WatchEvent::Kind kind, std::string path);

  bool is_full() const { return waiting_.size() >= enough; }
  bool is_empty() const { return waiting_.empty(); }
  // Writes what the pipe takes. Returns an errno; 0 also if some of it still waits.
  int flush();

 private:
  static constexpr std::size_t enough = std::size_t{128} * 1024;
  static constexpr std::size_t most_waiting = std::size_t{512} * 1024;

  void append(wire::WatchEvent event);

  int fd_;
  std::string waiting_;
  bool has_lost_ = false;     // since there was room
  std::string last_written_;  // a program writes a file in many pieces: the same event again says nothing more
};

}  // namespace cloche::agent
