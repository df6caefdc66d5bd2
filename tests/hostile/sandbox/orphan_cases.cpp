// Processes that a program leaves behind while another program of the same user runs beside it: they end with their own
// program, and the other one keeps what is its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hostile/sandbox/place.hpp"
#include "support/missing.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing_support::Target;

class HostileOrphans : public testing::TestWithParam<std::tuple<Target, std::string>> {
 protected:
  static void TearDownTestSuite() { leave_all_places(); }

  const Target& target() const { return std::get<0>(GetParam()); }
  const std::string& how() const { return std::get<1>(GetParam()); }

  static void expect_no_hole(const Result<Exec::Collected>& ran) {
    EXPECT_TRUE(ran) << ran.error().message;
    if (!ran) return;
    EXPECT_THAT(verdict_of(ran->out).holes, IsEmpty());
    EXPECT_TRUE(verdict_of(ran->out).done) << ran->out << ran->err;
  }

  static Task<> expect_none_called(Place& place, LiveSandbox& sandbox, std::string name) {
    std::vector<std::string> argv{"processes/look_for", std::move(name)};
    auto looked = co_await place.exec(sandbox, std::move(argv), ExecSpec());
    expect_no_hole(looked);
  }

  Task<> leave_beside_another(Place& place) {
    LiveSandbox* sandbox = co_await place.sandbox();
    if (sandbox == nullptr) co_return;
    ExecSpec spec;
    spec.argv = command_of({"processes/companion"});
    spec.env = place.stage().environment();
    spec.wall_limit = 60s;
    spec.stdin_mode = Stdin::stream;
    auto companion = co_await sandbox->start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(companion) << companion.error().message;
    if (!companion) co_return;
    auto living = co_await (*companion)->next(Deadline::after(60s));
    EXPECT_TRUE(living && std::holds_alternative<Output>(*living)) << "the companion did not begin";

    std::vector<std::string> argv{"processes/escape", how()};
    auto ran = co_await place.exec(*sandbox, std::move(argv), ExecSpec());
    expect_no_hole(ran);
    co_await expect_none_called(place, *sandbox, "escapee");

    (*companion)->close_stdin();
    auto ended = co_await (*companion)->collect(Deadline::after(60s));
    expect_no_hole(ended);
    co_await expect_none_called(place, *sandbox, "companion");
    co_await place.expect_unharmed(Place::Loss::is_a_failure);
    if (target().is_gvisor()) place.spoil();
  }
};

TEST_P(HostileOrphans, EndWithTheirOwnProgram) {
  if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  if (target().backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_REMOTE") != nullptr)
    CLOCHE_DOES_NOT_APPLY("the programs are seen through a mount, and the engine is remote");
  Place& place = place_of(target());
  place.run([&]() -> Task<> { co_await leave_beside_another(place); });
}

INSTANTIATE_TEST_SUITE_P(Processes, HostileOrphans,
                         testing::Combine(testing::ValuesIn(walled_targets()),
                                          testing::Values("daemon", "forged", "groups", "userns", "named", "sibling",
                                                          "hopper", "session_hopper")),
                         [](const auto& about) {
                           return std::get<0>(about.param).name() + "_" + std::get<1>(about.param);
                         });

}  // namespace cloche::hostile
