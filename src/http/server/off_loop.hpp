// Work on bytes that must not block others: large amounts on the server's workers, small ones immediately.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "core/async/blocking.hpp"
#include "http/server/exchange.hpp"

namespace cloche::http {

// How many bytes the server's own thread parses, checks, encodes or copies at one go.
constexpr std::size_t small_work = 64 << 10;

// `work` is pure and returns a Result; `size` is roughly the number of bytes that it processes.
template <class Work>
Task<std::invoke_result_t<Work&>> run_off_loop(const Exchange& exchange, std::size_t size, Work work) {
  if (exchange.workers() == nullptr || size <= small_work) co_return work();
  auto done = co_await run_blocking(*exchange.workers(), std::move(work));
  co_return done;
}

}  // namespace cloche::http
