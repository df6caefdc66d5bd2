// Pumps: bytes between a descriptor and a lane of a stream, within the lane's credit.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "agent/link/loop.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

// How much of a program's output is forwarded, and how much of it is allowed.
struct OutputCaps {
  std::uint64_t keep = UINT64_MAX;
  std::uint64_t stop = UINT64_MAX;
};

// Reads a descriptor until its end and hands the bytes to a taker that may say "not now".
class ReadPump {
 public:
  struct Taker {
    std::function<std::size_t()> room;            // how much may be handed over now
    std::function<void(std::string_view)> bytes;  // within the cap `keep`
    std::function<void()> end;                    // once, after the last bytes
    std::function<void()> over_stop_cap;          // once; reading continues, and all further bytes are dropped
    std::function<void()> after_read = nullptr;   // each time, whether the bytes were kept or dropped
  };

  ReadPump(Loop& loop, UniqueFd fd, OutputCaps caps, Taker taker);

  // The taker has room again.
  void resume();
  // Reads what is available now and then ends, even if others still hold the write end. Called when the program is
  // gone: all bytes in the pipe are delivered as room allows, and the end follows when it is empty.
  void finish();
  bool ended() const { return !fd_; }

  // The bytes written so far, read or not.
  std::uint64_t written() const;
  std::uint64_t produced() const { return produced_; }
  std::uint64_t dropped() const { return dropped_; }
  bool is_over_stop_cap() const { return over_stop_cap_; }

 private:
  void on_readable();
  void end();

  UniqueFd fd_;
  OutputCaps caps_;
  Taker taker_;
  std::uint64_t produced_ = 0;
  std::uint64_t dropped_ = 0;
  bool finishing_ = false;
  bool over_stop_cap_ = false;
  Loop::FdWatcher watch_;
};

// Writes queued bytes to a descriptor as it takes them.
class WritePump {
 public:
  // `on_written` gets the number of bytes that were written, or dropped because the reader is gone.
  WritePump(Loop& loop, UniqueFd fd, std::function<void(std::size_t)> on_written);

  void write(std::string_view bytes);
  // No more bytes: closes the descriptor once all is written.
  void end();
  // Closes now; what was not written is thrown away.
  void abort();
  bool ended() const { return !fd_; }

 private:
  void flush();
  void drop_all();

  UniqueFd fd_;
  std::function<void(std::size_t)> on_written_;
  std::string queue_;
  std::size_t position_ = 0;
  bool ending_ = false;
  Loop::FdWatcher watch_;
};

}  // namespace cloche::agent
