#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "egress/resolve/resolver.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::egress {
namespace {

TEST(SystemResolver, Localhost_IsTheLoopback) {
  asio::io_context io;
  const bool ended = http::testing::run_to_end(io, [&]() -> Task<> {
    const auto resolver = make_system_resolver(io.get_executor());
    for (int i = 0; i < 2; ++i) {
      const auto addresses = co_await resolver->resolve("localhost", Deadline::never());
      EXPECT_TRUE(addresses) << addresses.error().message;
      EXPECT_TRUE(addresses && std::string_view(reserved_use(addresses->front())) == "loopback");
    }
  });
  EXPECT_TRUE(ended);
}

TEST(SystemResolver, NameThatCannotExist_HasNoAddress) {
  asio::io_context io;
  const bool ended = http::testing::run_to_end(io, [&]() -> Task<> {
    const auto resolver = make_system_resolver(io.get_executor());
    const auto addresses = co_await resolver->resolve("no-such-name.invalid", Deadline::never());
    EXPECT_FALSE(addresses);
  });
  EXPECT_TRUE(ended);
}

TEST(SystemResolver, PassedDeadline_IsATimeoutAndItsEndDoesNotWait) {
  asio::io_context io;
  const bool ended = http::testing::run_to_end(io, [&]() -> Task<> {
    const auto resolver = make_system_resolver(io.get_executor());
    const auto addresses = co_await resolver->resolve("localhost", Deadline::after(std::chrono::seconds(0)));
    EXPECT_TRUE(!addresses && addresses.error().code == ErrorCode::timeout);
  });
  EXPECT_TRUE(ended);
}

TEST(SystemResolver, TooManyLookups_AreRefused) {
  asio::io_context io;
  SystemResolverOptions options;
  options.threads = 1;
  options.waiting = 0;
  const bool ended = http::testing::run_to_end(io, [&]() -> Task<> {
    const auto resolver = make_system_resolver(io.get_executor(), options);
    const Deadline now = Deadline::after(std::chrono::seconds(0));
    const auto first = co_await resolver->resolve("a.invalid", now);
    EXPECT_EQ(first.error().code, ErrorCode::timeout);
    const auto same = co_await resolver->resolve("a.invalid", now);
    EXPECT_EQ(same.error().code, ErrorCode::timeout);
    const auto second = co_await resolver->resolve("b.invalid", now);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  });
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace cloche::egress
