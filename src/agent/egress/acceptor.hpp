// Acceptor: a listener on the sandbox's loopback that accepts as long as there is room for another connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "agent/link/loop.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

enum class LoopbackFamily { v4, v6 };

class Acceptor {
 public:
  struct Taker {
    std::function<bool()> has_room;
    // A connection: non-blocking, and set to be reset when it is closed.
    std::function<void(UniqueFd)> take;
  };

  // already_exists if the port is in use.
  static Result<std::unique_ptr<Acceptor>> listen(Loop& loop, LoopbackFamily family, std::uint16_t port, Taker taker);

  // There may be room again.
  void resume() { watch_.want(EPOLLIN); }

 private:
  Acceptor(Loop& loop, UniqueFd listener, Taker taker);
  void on_readable();

  Loop& loop_;
  UniqueFd listener_;
  Taker taker_;
  Loop::Timer retry_;
  Loop::FdWatcher watch_;
};

}  // namespace cloche::agent
