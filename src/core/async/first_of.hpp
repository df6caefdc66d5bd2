// first_of: several tasks at once, until one of them ends.
//
// Asio's `a || b` waits for one that succeeds: if `a` throws, it keeps waiting for `b`, and drops the exception when
// `b` succeeds. Here the first one to end decides, whichever way it ends.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "core/async/task.hpp"

namespace cloche {

namespace detail {

template <class T>
using ValueOf = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Optional, because a task that throws has no value.
template <class T>
Task<std::optional<ValueOf<T>>> with_value(Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task);
    co_return std::optional<std::monostate>(std::in_place);
  } else {
    auto value = co_await std::move(task);
    co_return std::optional<T>(std::move(value));
  }
}

// Logs what a task threw that was cancelled because another one was first, unless that was its cancellation.
void note_end_of_loser(const std::exception_ptr& error);

template <class Ended, std::size_t index, class Completions>
void take_if_first(std::size_t first, Completions& completions, std::optional<Ended>& ended) {
  auto& error = std::get<1 + 2 * index>(completions);
  if (index != first) {
    if (error) note_end_of_loser(error);
    return;
  }
  if (error) std::rethrow_exception(error);
  ended.emplace(std::in_place_index<index>, std::move(*std::get<2 + 2 * index>(completions)));
}

template <class Ended, class Completions, std::size_t... indices>
Ended take_first(Completions& completions, std::index_sequence<indices...>) {
  const std::size_t first = std::get<0>(completions)[0];
  std::optional<Ended> ended;
  (take_if_first<Ended, indices>(first, completions, ended), ...);
  return std::move(*ended);
}

}  // namespace detail

// Starts all. When the first one ends, the others are cancelled and awaited. Returns the first one's value, at its
// index, or rethrows its exception. A cancellation of the caller reaches all.
template <class... T>
Task<std::variant<detail::ValueOf<T>...>> first_of(Task<T>... tasks) {
  using Ended = std::variant<detail::ValueOf<T>...>;
  const auto executor = co_await asio::this_coro::executor;
  auto group = asio::experimental::make_parallel_group(
      asio::co_spawn(executor, detail::with_value(std::move(tasks)), asio::deferred)...);
  auto completions = co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  co_return detail::take_first<Ended>(completions, std::index_sequence_for<T...>());
}

}  // namespace cloche
