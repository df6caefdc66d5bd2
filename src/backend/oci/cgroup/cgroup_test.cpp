#include "backend/oci/cgroup/cgroup.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "backend/oci/files.hpp"
#include "backend/oci/runtime/command.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/ids.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// The real cgroups of this host.
class RealCgroup : public ::testing::Test {
 protected:
  RealCgroup()
      : layout_(parse_cgroup_layout(read_file("/proc/self/mountinfo").value())),
        tree_(
            CgroupTree::open(layout_, read_file("/proc/self/cgroup").value(), "test-cgroup-" + random_hex(4)).value()),
        cgroup_(tree_.at("one")) {}

  void TearDown() override {
    EXPECT_TRUE(cgroup_.kill_all(Deadline::after(60s)));
    EXPECT_TRUE(cgroup_.remove(Deadline::after(60s)));
    EXPECT_TRUE(tree_.ids().empty());
  }

  // Runs a shell line inside; it may leave processes behind.
  int run_inside(const std::string& line) {
    const auto entrance = cgroup_.open_entrance();
    EXPECT_TRUE(entrance);
    Command command;
    command.program = "/bin/sh";
    command.arguments = {"-c", line};
    command.entrance = &*entrance;
    const auto end = run_command(command, Deadline::after(20s));
    EXPECT_TRUE(end) << end.error().message;
    return end ? end->exit_code : -1;
  }

  CgroupLayout layout_;
  CgroupTree tree_;
  Cgroup cgroup_;
};

TEST_F(RealCgroup, DirectoriesOfAllInstances_AreListedWithTheirOwner) {
  ASSERT_TRUE(cgroup_.create());
  std::string owner;
  for (const auto& each : tree_.all_directories()) {
    if (each.path.ends_with("/" + each.instance + "/one")) owner = each.instance;
  }
  EXPECT_THAT(owner, ::testing::StartsWith("test-cgroup-"));
}

TEST_F(RealCgroup, ProcessThatEnters_IsListedAndKilled) {
  ASSERT_TRUE(cgroup_.create());
  ASSERT_EQ(run_inside("sleep 1000 & setsid sleep 1000 & exit 0"), 0);
  const auto inside = cgroup_.processes().value();
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_TRUE(cgroup_.holds(inside[0]).value());
  EXPECT_FALSE(cgroup_.holds(::getpid()).value());
  EXPECT_TRUE(cgroup_.kill_all(Deadline::after(60s)));
  EXPECT_TRUE(cgroup_.processes().value().empty());
  EXPECT_TRUE(cgroup_.remove(Deadline::after(60s)));
  EXPECT_TRUE(cgroup_.remove(Deadline::after(60s)));  // nothing there is fine
}

TEST_F(RealCgroup, ForkBomb_IsKilled) {
  ASSERT_TRUE(cgroup_.create());
  ASSERT_TRUE(cgroup_.set_limits({mib(128), 1, 200}));
  run_inside("bomb() { bomb | bomb & }; bomb; exit 0");
  EXPECT_TRUE(cgroup_.kill_all(Deadline::after(20s)));
  EXPECT_TRUE(cgroup_.processes().value().empty());
}

TEST_F(RealCgroup, BusyCgroup_IsNotRemovedAndSaysSo) {
  ASSERT_TRUE(cgroup_.create());
  ASSERT_EQ(run_inside("sleep 1000 & exit 0"), 0);
  const Status removed = cgroup_.remove(Deadline::after(20ms));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::timeout);
}

TEST_F(RealCgroup, LimitThatCannotBe_LeavesTheFormerOnes) {
  ASSERT_TRUE(cgroup_.create());
  ASSERT_TRUE(cgroup_.set_limits({mib(64), 0.5, 20}));
  // No kernel takes so many processors' worth.
  const Status absurd = cgroup_.set_limits({mib(32), 1e12, 10});
  ASSERT_FALSE(absurd);
  EXPECT_THAT(absurd.error().message, HasSubstr("cpu"));
  EXPECT_NE(run_inside("head -c 48m /dev/zero | tail >/dev/null"), 137);
  EXPECT_EQ(cgroup_.evidence().value().oom_kills, 0u);
}

TEST_F(RealCgroup, MemoryKill_IsCounted) {
  ASSERT_TRUE(cgroup_.create());
  ASSERT_TRUE(cgroup_.set_limits({mib(16), 1, 20}));
  cgroup_.restart_peak();
  run_inside("head -c 100m /dev/zero | tail >/dev/null");
  const Evidence evidence = cgroup_.evidence().value();
  EXPECT_GE(evidence.oom_kills, 1u);
  ASSERT_TRUE(evidence.memory_peak);
  EXPECT_GE(*evidence.memory_peak, mib(10));
}

TEST_F(RealCgroup, SameIdTwice_IsRefused) {
  ASSERT_TRUE(cgroup_.create());
  EXPECT_EQ(cgroup_.create().error().code, ErrorCode::already_exists);
  EXPECT_EQ(tree_.ids(), std::vector<std::string>{"one"});
}

TEST_F(RealCgroup, ManyThatComeAndGo_DoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 30; ++round) {
        const Cgroup cgroup = tree_.at("many-" + std::to_string(i));
        if (!cgroup.create() || !cgroup.remove(Deadline::after(60s))) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// A line of numbers in a file, as far as it has got.
std::string count_so_far(const std::string& file) { return read_file(file).value_or(""); }

// Counts into the file for as long as it is not frozen. Not by the clock: by what the process has done.
void expect_to_stop_while_frozen(const Cgroup& cgroup, const std::string& file) {
  const auto advances = [&, before = count_so_far(file)] { return count_so_far(file) != before; };
  ASSERT_TRUE(testing_support::eventually(advances));
  for (int i = 0; i < 3; ++i) {
    const Status frozen = cgroup.freeze(Deadline::after(60s));
    ASSERT_TRUE(frozen) << frozen.error().message;
    const std::string before = count_so_far(file);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(count_so_far(file), before);
    EXPECT_TRUE(cgroup.freeze(Deadline::after(60s)));
    cgroup.release_memory();
    ASSERT_TRUE(cgroup.thaw(Deadline::after(60s)));
    EXPECT_TRUE(cgroup.thaw(Deadline::after(60s)));
    EXPECT_TRUE(testing_support::eventually([&] { return count_so_far(file) != before; }));
  }
}

TEST_F(RealCgroup, FrozenProcesses_DoNotAdvanceAndCanBeKilled) {
  ScratchDirectory scratch;
  ASSERT_TRUE(cgroup_.create());
  ASSERT_EQ(run_inside("(while :; do i=$((i+1)); echo $i > '" + (scratch / "count") + "'; done) & sleep 1000 & exit 0"),
            0);
  expect_to_stop_while_frozen(cgroup_, scratch / "count");
  ASSERT_TRUE(cgroup_.freeze(Deadline::after(60s)));
  EXPECT_TRUE(cgroup_.kill_all(Deadline::after(60s)));
  EXPECT_TRUE(cgroup_.processes().value().empty());
}

TEST_F(RealCgroup, UseOfResources_IsCounted) {
  ASSERT_TRUE(cgroup_.create());
  const auto before = cgroup_.resource_use();
  ASSERT_TRUE(before) << before.error().message;
  run_inside("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  const auto after = cgroup_.resource_use();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_GT(after->cpu_time, before->cpu_time + 1ms);
  ASSERT_EQ(run_inside("sleep 1000 & exit 0"), 0);
  EXPECT_GT(cgroup_.resource_use()->memory.count, 0u);
}

TEST(CgroupWithoutFreezer, Freeze_IsUnsupportedAndThawFine) {
  ScratchDirectory scratch;
  const Cgroup cgroup({{CgroupVersion::v1, {"memory"}, scratch / "", {}, scratch / "cloche/i/one"}}, {});
  EXPECT_EQ(cgroup.freeze(Deadline::after(1s)).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(cgroup.thaw(Deadline::after(1s)));
}

// The v2 hierarchy, which a hybrid host has too, though without the controllers.
TEST(V2Hierarchy, FrozenProcesses_DoNotAdvanceAndCanBeKilled) {
  const auto layout = parse_cgroup_layout(read_file("/proc/self/mountinfo").value());
  if (layout.v2() == nullptr) CLOCHE_CANNOT_TEST("cgroup v2", "the host has none");
  const std::string top = layout.v2()->mount_point;
  const Cgroup cgroup({{CgroupVersion::v2, {}, top, {}, top + "/cloche/test-v2-" + random_hex(4) + "/one"}}, {});
  ScratchDirectory scratch;
  ASSERT_TRUE(cgroup.create());
  const auto entrance = cgroup.open_entrance();
  ASSERT_TRUE(entrance);
  Command command;
  command.program = "/bin/sh";
  command.arguments = {"-c", "(while :; do i=$((i+1)); echo $i > '" + (scratch / "count") + "'; done) & exit 0"};
  command.entrance = &*entrance;
  EXPECT_EQ(run_command(command, Deadline::after(20s)).value().exit_code, 0);
  expect_to_stop_while_frozen(cgroup, scratch / "count");
  EXPECT_TRUE(cgroup.freeze(Deadline::after(60s)));
  EXPECT_TRUE(cgroup.kill_all(Deadline::after(60s)));
  EXPECT_TRUE(cgroup.remove(Deadline::after(60s)));
}

TEST(V2Hierarchy, ChildIsBornInsideOrMovesIn_AndIsKilled) {
  const auto layout = parse_cgroup_layout(read_file("/proc/self/mountinfo").value());
  if (layout.v2() == nullptr) CLOCHE_CANNOT_TEST("cgroup v2", "the host has none");
  const std::string top = layout.v2()->mount_point;
  const Cgroup cgroup({{CgroupVersion::v2, {}, top, {}, top + "/cloche/test-v2-" + random_hex(4) + "/one"}}, {});
  ASSERT_TRUE(cgroup.create());
  auto entrance = cgroup.open_entrance();
  ASSERT_TRUE(entrance);
  Command command;
  command.program = "/bin/sh";
  command.arguments = {"-c", "sleep 1000 & exit 0"};
  command.entrance = &*entrance;
  EXPECT_EQ(run_command(command, Deadline::after(20s)).value().exit_code, 0);
  EXPECT_EQ(cgroup.processes().value().size(), 1u);
  entrance->v2_directory.reset();  // as where clone3 may not be called
  EXPECT_EQ(run_command(command, Deadline::after(20s)).value().exit_code, 0);
  EXPECT_EQ(cgroup.processes().value().size(), 2u);
  EXPECT_TRUE(cgroup.kill_all(Deadline::after(60s)));
  EXPECT_TRUE(cgroup.remove(Deadline::after(60s)));
}

// A directory that looks like a v2 hierarchy: which files are written, with what.
class V2Files : public ::testing::Test {
 protected:
  V2Files() {
    ::mkdir((scratch_ / "cgroup").c_str(), 0755);
    write("cgroup.controllers", "cpuset cpu io memory pids\n");
    write("cgroup.subtree_control", "cpu memory pids\n");
    layout_.mounts.push_back({CgroupVersion::v2, scratch_ / "cgroup", "/", {}});
  }
  void write(const std::string& name, const std::string& content) {
    EXPECT_TRUE(make_directories(parent_of(scratch_ / "cgroup/" + name), 0755));
    EXPECT_TRUE(write_file(scratch_ / "cgroup/" + name, content, 0644));
  }
  std::string read(const std::string& name) { return read_file(scratch_ / "cgroup/" + name).value_or("absent"); }

  ScratchDirectory scratch_;
  CgroupLayout layout_;
};

TEST_F(V2Files, Limits_AreWrittenWithoutSwap) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->path_for_runtime("s1"), "/cloche/inst/s1");
  const std::string dir = "cloche/inst/s1/";
  for (const char* file : {"memory.max", "memory.swap.max", "cpu.max", "pids.max"}) write(dir + file, "");
  write(dir + "memory.current", "4096\n");
  const Status set = tree->at("s1").set_limits({mib(128), 0.5, 64});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(read(dir + "memory.max"), "134217728");
  EXPECT_EQ(read(dir + "memory.swap.max"), "0");
  EXPECT_EQ(read(dir + "cpu.max"), "5000 10000");
  EXPECT_EQ(read(dir + "cpu.max.burst"), "absent");  // a kernel before 5.14
  EXPECT_EQ(read(dir + "pids.max"), "64");
}

TEST_F(V2Files, ShareOfTheCpu_HasAShortPeriodAndABurst) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  const std::string dir = "cloche/inst/s1/";
  const auto set = [&](double cpus) {
    for (const char* file : {"memory.max", "memory.swap.max", "cpu.max", "cpu.max.burst", "pids.max"}) {
      write(dir + file, "");
    }
    write(dir + "memory.current", "4096\n");
    EXPECT_TRUE(tree->at("s1").set_limits({mib(128), cpus, 64}));
    return read(dir + "cpu.max");
  };
  EXPECT_EQ(set(0.2), "5000 25000");
  EXPECT_EQ(set(0.02), "2000 100000");
  EXPECT_EQ(set(0), "max 100000");
  EXPECT_EQ(read(dir + "cpu.max.burst"), "0");
  EXPECT_EQ(set(1.5), "15000 10000");
}

TEST_F(V2Files, BurstOfTheCpu_IsGoneWhileTheShareChanges) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  const std::string dir = "cloche/inst/s1/";
  for (const char* file : {"memory.max", "memory.swap.max", "cpu.max", "pids.max"}) write(dir + file, "");
  write(dir + "memory.current", "4096\n");
  write(dir + "cpu.max.burst", "9");
  ASSERT_TRUE(tree->at("s1").set_limits({mib(128), 1.5, 64}));
  EXPECT_EQ(read(dir + "cpu.max.burst"), "15000");
}

TEST_F(V2Files, MemoryInUse_IsNotLimitedAway) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  write("cloche/inst/s1/memory.current", std::to_string(mib(300).count));
  const Status set = tree->at("s1").set_limits({mib(128), 0.5, 64});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::limit_reached);
}

TEST_F(V2Files, Evidence_IsReadFromEvents) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  write("cloche/inst/s1/memory.events", "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0\n");
  write("cloche/inst/s1/memory.peak", "1048576\n");
  write("cloche/inst/s1/pids.events", "max 5\n");
  const auto evidence = tree->at("s1").evidence();
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->oom_kills, 2u);
  EXPECT_EQ(evidence->memory_peak, mib(1));
  EXPECT_EQ(evidence->refused_forks, 5u);
}

TEST_F(V2Files, FreezeAndUse_AreWrittenAndRead) {
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  const std::string dir = "cloche/inst/s1/";
  write(dir + "cgroup.freeze", "");
  write(dir + "cgroup.events", "populated 1\nfrozen 1\n");
  EXPECT_TRUE(tree->at("s1").freeze(Deadline::after(60s)));
  EXPECT_EQ(read(dir + "cgroup.freeze"), "1");
  // One that does not come to rest is let go.
  write(dir + "cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_EQ(tree->at("s1").freeze(Deadline::after(5ms)).error().code, ErrorCode::timeout);
  EXPECT_EQ(read(dir + "cgroup.freeze"), "0");
  write(dir + "memory.current", "10000\n");
  write(dir + "memory.stat", "anon 3000\ninactive_file 1500\nactive_file 500\n");
  write(dir + "cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
  const auto use = tree->at("s1").resource_use();
  ASSERT_TRUE(use) << use.error().message;
  EXPECT_EQ(use->memory.count, 8000u);
  EXPECT_EQ(use->cache.count, 2000u);
  EXPECT_EQ(use->cpu_time, 1234us);
}

TEST_F(V2Files, ControllerThatIsNotThere_IsNamed) {
  write("cgroup.controllers", "cpu pids\n");
  const auto tree = CgroupTree::open(layout_, "0::/\n", "inst");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, ErrorCode::unsupported);
  EXPECT_THAT(tree.error().message, HasSubstr("memory"));
}

TEST_F(V2Files, ControllersSplitOverBothVersions_AreFoundWhereTheyAre) {
  ASSERT_TRUE(make_directory(scratch_ / "pids", 0755));
  layout_.mounts.push_back({CgroupVersion::v1, scratch_ / "pids", "/", {"pids"}});
  write("cgroup.controllers", "cpu memory\n");
  const auto tree = CgroupTree::open(layout_, "0::/\n1:pids:/\n", "inst");
  ASSERT_TRUE(tree) << tree.error().message;
}

}  // namespace
}  // namespace cloche::oci
