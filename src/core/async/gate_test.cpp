#include "core/async/gate.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <vector>

#include "core/async/task_group.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

struct GateTest : testing::Test {
  // Enters, says so, and stays until let out.
  void visit(int number, Urgency urgency = Urgency::ordinary) {
    visitors.spawn("visitor", [this, number, urgency]() -> Task<> {
      const Gate::Pass pass = co_await gate.enter(urgency);
      inside.push_back(number);
      const auto mine = ++stays;
      while (let_out < mine) co_await out.wait();
    });
    io.poll();
  }
  void let_one_out() {
    ++let_out;
    out.notify();
    io.poll();
  }

  asio::io_context io;
  Gate gate{io.get_executor(), 1};
  Event out{io.get_executor()};
  int stays = 0;
  int let_out = 0;
  std::vector<int> inside;
  TaskGroup visitors{io.get_executor()};
};

TEST_F(GateTest, FullGate_LetsThoseWhoWaitInInOrderAndTheUrgentFirst) {
  visit(1), visit(2), visit(3), visit(4, Urgency::urgent);
  EXPECT_EQ(inside, (std::vector{1}));
  for (int i = 0; i < 4; ++i) let_one_out();
  EXPECT_EQ(inside, (std::vector{1, 4, 2, 3}));
}

TEST_F(GateTest, VisitorThatLeaves_GivesItsPlaceUp) {
  visit(1);
  TaskGroup impatient(io.get_executor());
  impatient.spawn("leaves", [this]() -> Task<> {
    const Gate::Pass pass = co_await gate.enter(Urgency::ordinary);
    ADD_FAILURE() << "came in after all";
  });
  io.poll();
  impatient.cancel();
  io.poll();
  visit(2);
  let_one_out();
  EXPECT_EQ(inside, (std::vector{1, 2}));
  let_one_out();
}

}  // namespace
}  // namespace cloche
