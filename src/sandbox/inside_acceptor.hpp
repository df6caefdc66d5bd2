// InsideAcceptor: accepts connections on a listener of this process in a sandbox's network, as long as there is room.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>

#include "core/async/task.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

class InsideAcceptor {
 public:
  struct Taker {
    std::function<bool()> has_room;
    std::function<void(asio::ip::tcp::socket)> take;  // connected and non-blocking
  };

  // The listener is non-blocking.
  static Result<std::unique_ptr<InsideAcceptor>> start(const Executor& executor, UniqueFd listener, Taker taker);
  InsideAcceptor(const InsideAcceptor&) = delete;
  InsideAcceptor& operator=(const InsideAcceptor&) = delete;
  // No one listens any more, and what was not accepted is reset.
  ~InsideAcceptor();

  // There may be room again.
  void resume();

 private:
  struct State;
  explicit InsideAcceptor(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace cloche
