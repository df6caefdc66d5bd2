// Task: a coroutine of Cloche. It runs on the one thread that owns all state, and starts when awaited or spawned.
// A task is cancelled through Asio's cancellation slots: the pending co_await then throws operation_aborted.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche {

namespace asio = boost::asio;

template <class T = void>
using Task = asio::awaitable<T>;
using Executor = asio::any_io_executor;

}  // namespace cloche
