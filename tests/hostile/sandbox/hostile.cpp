// Every attack, in a real sandbox of every backend and runtime, where it must find no hole (Hostile), and in a place
// without walls, where it must find one (Weakened).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hostile/sandbox/place.hpp"
#include "hostile/sandbox/weak_place.hpp"
#include "support/missing.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing_support::Target;

namespace {

std::string listed(const std::vector<std::string>& lines) {
  std::string all;
  for (const auto& line : lines) all += "\n    " + line;
  return all;
}

// What is left of the holes without those that lead nowhere on this target.
std::vector<std::string> without(std::vector<std::string> holes, const std::vector<std::string>& harmless) {
  std::erase_if(holes, [&](const std::string& hole) {
    return std::ranges::any_of(harmless, [&](const std::string& words) { return hole.find(words) != hole.npos; });
  });
  return holes;
}

std::string told_of(const Exec::Collected& ran) {
  return std::string(to_string(ran.outcome.ending)) + ", exit code " + std::to_string(ran.outcome.exit_code) + "\n" +
         ran.out.substr(0, 4000) + "\n" + ran.err.substr(0, 2000);
}

ExecSpec spec_of(const Attack& attack) {
  ExecSpec spec;
  spec.wall_limit = attack.wall_limit.value_or(60s);
  spec.cpu_limit = attack.cpu_limit;
  if (attack.way == Attack::Way::terminal) spec.terminal = TerminalSize{};
  if (attack.way == Attack::Way::zygote) spec.zygote = "python";
  if (attack.events) spec.events = EventPipe{};
  if (attack.input > 0) {
    spec.stdin_mode = Stdin::bytes;
    spec.input = std::string(attack.input, 'i');
  }
  return spec;
}

}  // namespace

class Hostile : public testing::TestWithParam<std::tuple<Target, Attack>> {
 protected:
  static void TearDownTestSuite() { leave_all_places(); }

  const Target& target() const { return std::get<0>(GetParam()); }
  const Attack& attack() const { return std::get<1>(GetParam()); }

  void expect_held(const Exec::Collected& ran) {
    const Verdict verdict = verdict_of(ran.out);
    EXPECT_TRUE(!verdict.held.empty() || !verdict.holes.empty() || (is_lost_ && was_killed_for_memory(ran)))
        << "it tried nothing: " << told_of(ran);
    auto holes = verdict.holes;
    if (target().is_gvisor()) holes = without(std::move(holes), attack().harmless_on_gvisor);
    if (target().backend == "docker") holes = without(std::move(holes), attack().harmless_on_docker);
    std::erase_if(holes, [&](const std::string& hole) { return is_open(hole); });
    EXPECT_THAT(holes, IsEmpty()) << listed(holes);
  }

  // gVisor's files and counters are memory. A flood of them ends at the memory limit: the program, or the sandbox with
  // what the program had printed and had not been read.
  bool was_killed_for_memory(const Exec::Collected& ran) const {
    return target().is_gvisor() && attack().ends_gvisor && ran.outcome.ending == Ending::memory_limit;
  }

  bool was_ended_too_soon(const Exec::Collected& ran) const {
    const Verdict verdict = verdict_of(ran.out);
    return attack().wall_limit && ran.outcome.ending == Ending::wall_limit && verdict.held.empty() &&
           verdict.holes.empty();
  }

  // Whether it is a known one; recorded for the report.
  bool is_open(const std::string& hole) {
    for (const OpenHole& open : attack().open) {
      if (target().name().find(open.where) == std::string::npos || hole.find(open.words) == hole.npos) continue;
      open_ += (open_.empty() ? "" : "; ") + hole + " (" + open.what + ")";
      return true;
    }
    return false;
  }

  void expect_end(const Exec::Collected& ran) const {
    if (was_killed_for_memory(ran)) return;
    if (attack().endings.empty()) {
      EXPECT_TRUE(ran.outcome.success() && verdict_of(ran.out).done) << "it did not come to its end: " << told_of(ran);
    } else {
      EXPECT_THAT(attack().endings, testing::Contains(ran.outcome.ending)) << told_of(ran);
    }
    if (attack().judge) attack().judge(ran);
  }

  Task<> attack_it(Place& place) {
    const auto loss = attack().ends_gvisor && target().is_gvisor() ? Place::Loss::is_fine : Place::Loss::is_a_failure;
    LiveSandbox* sandbox = co_await place.sandbox(attack().memory);
    if (sandbox == nullptr) co_return;
    if (attack().way == Attack::Way::zygote) {
      std::vector<std::string> imports(1, "json");
      auto started =
          co_await sandbox->start_zygote("python", "/usr/bin/python3", std::move(imports), Deadline::after(60s));
      EXPECT_TRUE(started || started.error().code == ErrorCode::already_exists) << started.error().message;
    }
    ExecSpec spec = spec_of(attack());
    auto ran = co_await place.exec(*sandbox, attack().argv, spec);
    // A time limit is short, so that the test is. On a busy machine it may end a program that has tried nothing yet.
    while (ran && was_ended_too_soon(*ran) && *spec.wall_limit < 60s) {
      *spec.wall_limit *= 2;
      ran = co_await place.exec(*sandbox, attack().argv, spec);
    }
    is_lost_ = sandbox->lost().has_value();
    if (ran) {
      expect_held(*ran);
      expect_end(*ran);
    } else {
      EXPECT_TRUE(loss == Place::Loss::is_fine && sandbox->lost()) << ran.error().message;
    }
    if (!attack().then.empty() && !sandbox->lost()) co_await look_afterwards(place, *sandbox);
    co_await place.expect_unharmed(loss);
    // What floods or escapes is hard on a gVisor kernel; the next attack shall meet a good one.
    const bool is_hard =
        attack().ends_gvisor || (!attack().then.empty() && attack().between == Attack::Between::nothing);
    if (is_hard && target().is_gvisor()) place.spoil();
  }

  Task<> look_afterwards(Place& place, LiveSandbox& attacked) {
    LiveSandbox* sandbox = &attacked;
    // Reset, or replaced by another: the next leased sandbox is one of the two.
    if (attack().between == Attack::Between::reset) sandbox = co_await place.sandbox(attack().memory);
    if (sandbox == nullptr) co_return;
    ExecSpec spec;
    if (attack().way == Attack::Way::zygote) {
      spec.zygote = "python";
      std::vector<std::string> imports(1, "json");
      // A reset leaves a zygote alive; a sandbox that was replaced has none yet.
      auto started =
          co_await sandbox->start_zygote("python", "/usr/bin/python3", std::move(imports), Deadline::after(60s));
      EXPECT_TRUE(started || started.error().code == ErrorCode::already_exists) << started.error().message;
    }
    auto looked = co_await place.exec(*sandbox, attack().then, std::move(spec));
    EXPECT_TRUE(looked) << looked.error().message;
    if (!looked) co_return;
    expect_held(*looked);
    EXPECT_TRUE(verdict_of(looked->out).done) << told_of(*looked);
  }

  std::string open_;
  bool is_lost_ = false;  // the sandbox, with the attack
};

TEST_P(Hostile, Holds) {
  if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  if (target().backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_REMOTE") != nullptr)
    CLOCHE_DOES_NOT_APPLY("the programs are seen through a mount, and the engine is remote");
  if (target().is_gvisor() && !attack().not_on_gvisor.empty()) CLOCHE_DOES_NOT_APPLY(attack().not_on_gvisor);
  Place& place = place_of(target());
  place.run([&]() -> Task<> { co_await attack_it(place); });
  if (!HasFailure() && !open_.empty()) CLOCHE_CANNOT_TEST("open hole", open_);
}

class Weakened : public testing::TestWithParam<Attack> {};

TEST_P(Weakened, HasAHole) {
  const Target target{"oci", "crun"};
  if (const auto lack = testing_support::lack_of(target)) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  if (!GetParam().weak.none.empty()) CLOCHE_DOES_NOT_APPLY(GetParam().weak.none);
  const WeakEnd end = run_in_weak_place(GetParam());
  const Verdict verdict = verdict_of(end.out);
  EXPECT_GE(verdict.holes.size(), static_cast<std::size_t>(GetParam().weak.holes))
      << "the attack does not see what it should:\n"
      << end.out.substr(0, 4000) << "\n"
      << end.err.substr(0, 2000);
}

namespace {

std::string name_of(const testing::TestParamInfo<std::tuple<Target, Attack>>& info) {
  return std::get<0>(info.param).name() + "_" + std::get<1>(info.param).name;
}
std::string weak_name_of(const testing::TestParamInfo<Attack>& info) { return info.param.name; }

}  // namespace

#define CLOCHE_HOSTILE_GROUP(Group, attacks)                                                                         \
  INSTANTIATE_TEST_SUITE_P(                                                                                          \
      Group, Hostile, testing::Combine(testing::ValuesIn(walled_targets()), testing::ValuesIn(attacks())), name_of); \
  INSTANTIATE_TEST_SUITE_P(Group, Weakened, testing::ValuesIn(attacks()), weak_name_of)

CLOCHE_HOSTILE_GROUP(Files, file_attacks);
CLOCHE_HOSTILE_GROUP(Processes, process_attacks);
CLOCHE_HOSTILE_GROUP(Memory, memory_attacks);
CLOCHE_HOSTILE_GROUP(Kernel, kernel_attacks);
CLOCHE_HOSTILE_GROUP(Network, network_attacks);
CLOCHE_HOSTILE_GROUP(Protocol, protocol_attacks);
CLOCHE_HOSTILE_GROUP(Leftovers, leftover_attacks);

}  // namespace cloche::hostile
