#include "core/async/first_of.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "core/async/event.hpp"
#include "core/async/exceptions.hpp"
#include "core/async/guarded.hpp"
#include "core/async/task_group.hpp"

namespace cloche {
namespace {

// Never ends by itself; notes that it was ended.
Task<> wait_for_ever(bool& ended) {
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  } const mark{ended};
  Event never(co_await asio::this_coro::executor);
  for (;;) co_await never.wait();
}

Task<int> seven_a_little_later() {
  co_await asio::post(asio::use_awaitable);
  co_return 7;
}

Task<> throw_a_little_later() {
  co_await asio::post(asio::use_awaitable);
  throw std::out_of_range("on purpose");
}

// The exception of the body, after everything has ended.
std::exception_ptr run(std::function<Task<>()> body) {
  asio::io_context io;
  std::exception_ptr thrown;
  asio::co_spawn(io, std::move(body), [&](std::exception_ptr error) { thrown = error; });
  io.run();
  return thrown;
}

TEST(FirstOf, OneThatReturns_EndsTheOthersAndIsNamedByItsPlace) {
  bool first_ended = false;
  bool last_ended = false;
  const auto thrown = run([&]() -> Task<> {
    auto ended = co_await first_of(wait_for_ever(first_ended), seven_a_little_later(), wait_for_ever(last_ended));
    EXPECT_EQ(ended.index(), 1u);
    EXPECT_EQ(std::get<1>(ended), 7);
    EXPECT_TRUE(first_ended && last_ended) << "it returned before the others had ended";
  });
  EXPECT_FALSE(thrown);
}

TEST(FirstOf, OneThatThrows_EndsTheOthersAndItsExceptionIsThrown) {
  bool ended = false;
  const auto thrown = run([&]() -> Task<> {
    co_await first_of(wait_for_ever(ended), throw_a_little_later());
    ADD_FAILURE() << "it did not throw";
  });
  ASSERT_TRUE(thrown);
  EXPECT_THROW(std::rethrow_exception(thrown), std::out_of_range);
  EXPECT_TRUE(ended);
}

TEST(FirstOf, OneThatThrowsBeforeItSuspends_EndsTheOthers) {
  bool ended = false;
  const auto at_once = []() -> Task<int> {
    throw std::bad_alloc();
    co_return 1;
  };
  const auto thrown = run([&]() -> Task<> { co_await first_of(at_once(), wait_for_ever(ended)); });
  ASSERT_TRUE(thrown);
  EXPECT_THROW(std::rethrow_exception(thrown), std::bad_alloc);
}

TEST(FirstOf, CancelledCaller_EndsAllAndLooksCancelled) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  bool one = false;
  bool other = false;
  std::exception_ptr thrown;
  group.spawn("race", [&]() -> Task<> {
    try {
      co_await first_of(wait_for_ever(one), wait_for_ever(other));
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  group.cancel();
  io.run();
  ASSERT_TRUE(thrown);
  EXPECT_TRUE(is_cancellation(thrown));
  EXPECT_TRUE(one && other);
}

TEST(Guarded, Exception_IsAnInternalError) {
  const auto thrown = run([]() -> Task<> {
    const auto work = []() -> Task<Status> {
      co_await throw_a_little_later();
      co_return Status{};
    };
    auto done = co_await guarded("the work", work);
    EXPECT_FALSE(done);
    if (done) co_return;
    EXPECT_EQ(done.error().code, ErrorCode::internal);
    EXPECT_EQ(done.error().message, "the work: internal error: on purpose");
  });
  EXPECT_FALSE(thrown);
}

TEST(Guarded, Cancellation_GoesThroughAndIsAnErrorWhereItIsAttempted) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  bool ended = false;
  const auto work = [&]() -> Task<Status> {
    co_await wait_for_ever(ended);
    co_return Status{};
  };
  bool went_on = false;
  std::optional<ErrorCode> code;
  group.spawn("guarded", [&]() -> Task<> {
    auto done = co_await guarded("the work", work);
    went_on = true;
  });
  group.spawn("attempted", [&]() -> Task<> {
    auto done = co_await attempted("the work", work);
    if (!done) code = done.error().code;
  });
  group.cancel();
  io.run();
  EXPECT_FALSE(went_on);
  EXPECT_EQ(code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace cloche
