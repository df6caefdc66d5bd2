// LoopThread: a thread with an event loop, for callers that have none. Every call is a coroutine awaited from outside.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>
#include <utility>

namespace cloche {

class LoopThread {
 public:
  LoopThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  ~LoopThread() {
    work_.reset();
    thread_.join();
  }

  boost::asio::io_context& io() { return io_; }

  // `start` returns a coroutine. Not from the loop's own thread.
  template <class Start>
  auto wait_for(Start start) {
    return boost::asio::co_spawn(io_, std::move(start), boost::asio::use_future).get();
  }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace cloche
