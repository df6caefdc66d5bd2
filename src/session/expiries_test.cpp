#include "session/expiries.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "core/async/task_group.hpp"

namespace cloche::session {
namespace {

using namespace std::chrono_literals;

SessionKey key_of(const std::string& id) { return {"tenant", id}; }

class ExpiriesTest : public testing::Test {
 protected:
  static WallTime in(std::chrono::milliseconds span) { return std::chrono::system_clock::now() + span; }

  // The next so many, in their order; fewer if none comes any more.
  std::vector<std::string> next(std::size_t count) {
    std::vector<std::string> ids;
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("next", [&]() -> Task<> {
      while (ids.size() < count) {
        const SessionKey key = co_await expiries_.next();
        ids.push_back(key.id);
      }
      io_.stop();
    });
    io_.restart();
    io_.run_for(30s);
    io_.restart();
    tasks.cancel();
    io_.run();
    return ids;
  }

  asio::io_context io_{1};
  Expiries expiries_{io_.get_executor()};
};

TEST_F(ExpiriesTest, Several_ComeInTheirOrderAndOnce) {
  expiries_.set(key_of("last"), in(30ms));
  expiries_.set(key_of("past"), in(-1h));
  expiries_.set(key_of("first"), in(10ms));
  EXPECT_EQ(next(3), (std::vector<std::string>{"past", "first", "last"}));
}

TEST_F(ExpiriesTest, SetAgain_OnlyTheLastTimeCounts) {
  expiries_.set(key_of("later"), in(1ms));
  expiries_.set(key_of("later"), in(1h));
  expiries_.set(key_of("never"), in(1ms));
  expiries_.set(key_of("never"), std::nullopt);
  expiries_.set(key_of("none"), std::nullopt);
  expiries_.set(key_of("sooner"), in(1h));
  expiries_.set(key_of("sooner"), in(20ms));
  EXPECT_EQ(next(1), (std::vector<std::string>{"sooner"}));
}

TEST_F(ExpiriesTest, SetWhileItIsWaitedFor_IsNoticed) {
  expiries_.set(key_of("far"), in(1h));
  asio::steady_timer timer(io_, 10ms);
  timer.async_wait([this](boost::system::error_code) { expiries_.set(key_of("near"), in(1ms)); });
  EXPECT_EQ(next(1), (std::vector<std::string>{"near"}));
}

TEST_F(ExpiriesTest, FarAway_DoesNotOverflow) {
  expiries_.set(key_of("far"), WallTime::max());
  expiries_.set(key_of("near"), in(1ms));
  EXPECT_EQ(next(1), (std::vector<std::string>{"near"}));
}

}  // namespace
}  // namespace cloche::session
