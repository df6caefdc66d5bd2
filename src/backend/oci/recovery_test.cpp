// A server that starts again, with every runtime of this host: what lives is found, what is dead or half made is
// removed.
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "backend/oci/files.hpp"
#include "backend/oci/record.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/async/event.hpp"
#include "core/ids.hpp"
#include "process/descriptors.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Also if it is not a child of this process.
void wait_for_end(pid_t pid) {
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {fd.get(), POLLIN, 0};
  if (fd) ::poll(&ended, 1, 10'000);
}

// A process that makes sandboxes and is then killed, as a server may be. It has no threads of the test's.
class DoomedMaker {
 public:
  DoomedMaker(const std::string& scratch, const std::string& instance, SandboxSpec spec) {
    process::Pipe answer = process::make_pipe().value();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      Workbench bench(scratch, instance);
      auto backend = bench.backend();
      auto sandbox = bench.make(*backend, std::move(spec));
      const std::string line =
          sandbox ? sandbox->id().value + " " + bench.ask(*sandbox, "as 1000 write /workspace/kept") : "failed";
      (void)!::write(answer.write.get(), line.data(), line.size());
      answer.write.reset();
      while (true) ::pause();
    }
    answer.write.reset();
    char chunk[256];
    for (ssize_t n; (n = ::read(answer.read.get(), chunk, sizeof chunk)) > 0;)
      said_.append(chunk, static_cast<std::size_t>(n));
  }
  ~DoomedMaker() { die(); }

  // The id of its sandbox, and "ok".
  const std::string& said() const { return said_; }
  void die() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  std::string said_;
};

class Recovery : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { CLOCHE_NEEDS_RUNTIME(GetParam()); }
};

TEST_P(Recovery, MakerKilled_SandboxIsMetAgain) {
  const ScratchDirectory scratch;
  const std::string instance = "test-met-again-" + std::string(GetParam());
  DoomedMaker maker(scratch.path(), instance, spec_with(GetParam()));
  ASSERT_THAT(maker.said(), HasSubstr(" ok"));
  const std::string id = maker.said().substr(0, maker.said().find(' '));

  Workbench bench(scratch.path(), instance);
  auto backend = bench.backend();
  // While its maker lives the sandbox is the maker's.
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  maker.die();
  auto found = bench.recover(*backend);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->id().value, id);
  EXPECT_EQ(found[0]->runtime(), GetParam());
  EXPECT_EQ(found[0]->spec().work_dir, "/workspace");
  EXPECT_EQ(bench.ask(*found[0], "echo again"), "again");
  EXPECT_EQ(bench.ask(*found[0], "as 1000 open /workspace/kept"), "ok");
  bench.destroy(*found[0]);
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}

// Freezes a process: it takes no signal, not even SIGKILL, until this goes.
class Frozen {
 public:
  static bool can_be_had() { return ::access("/sys/fs/cgroup/freezer/cgroup.procs", W_OK) == 0; }

  explicit Frozen(pid_t pid) : directory_("/sys/fs/cgroup/freezer/cloche-test-" + random_hex(6)) {
    ::mkdir(directory_.c_str(), 0755);
    (void)write_control(directory_ + "/cgroup.procs", std::to_string(pid));
    (void)write_control(directory_ + "/freezer.state", "FROZEN");
  }
  ~Frozen() {
    (void)write_control(directory_ + "/freezer.state", "THAWED");
    EXPECT_TRUE(testing_support::eventually([this] { return ::rmdir(directory_.c_str()) == 0; }));
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  std::string directory_;
};

TEST_P(Recovery, SandboxThatCannotBeRemoved_CostsNoOtherAndIsRemovedLater) {
  if (!Frozen::can_be_had()) CLOCHE_CANNOT_TEST("freezer", "the host has no freezer of cgroup v1");
  Workbench bench;
  auto backend = bench.backend();
  // The ids are random: one of three that live is met before the one that resists, or after it.
  std::vector<std::unique_ptr<Enclosure>> living;
  for (int i = 0; i < 3; ++i) living.push_back(bench.make(*backend, spec_with(GetParam())));
  auto stuck = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(stuck);
  const std::string id = stuck->id().value;
  const std::string file = bench.options().run_dir + "/" + bench.instance() + "/sandboxes/" + id + "/sandbox.json";
  const auto record = read_record(file);
  ASSERT_TRUE(record);
  std::optional<Frozen> frozen(record->first.pid);
  ASSERT_TRUE(remove_tree(file));

  const Deadline in_time = Deadline::after(18s);
  auto found = bench.run<Result<std::vector<std::unique_ptr<Enclosure>>>>(
      [&] { return backend->recover(Deadline::after(20s)); });
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), living.size());
  EXPECT_FALSE(in_time.passed()) << "one that resists has taken all the time there was";
  const auto unremoved = backend->unremoved();
  ASSERT_EQ(unremoved.size(), 1u);
  EXPECT_EQ(unremoved[0].sandbox, id);
  EXPECT_THAT(unremoved[0].why, HasSubstr("have not ended"));
  EXPECT_EQ(bench.ask(*living[0], "echo there"), "there");

  frozen.reset();
  const Deadline patience = Deadline::after(60s);
  while (!backend->unremoved().empty() && !patience.passed()) {
    bench.run<bool>([&]() -> Task<bool> {
      co_await backend->retry_removals();
      co_await pause_for(100ms);
      co_return true;
    });
  }
  EXPECT_EQ(backend->unremoved().size(), 0u);
  for (auto& each : *found) bench.destroy(*each);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Recovery, OtherInstance_IsLeftAlone) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  OciOptions others = bench.options();
  others.instance.value = "test-other-instance";
  auto other = bench.backend(others);
  EXPECT_EQ(bench.recover(*other).size(), 0u);
  EXPECT_EQ(bench.ask(*sandbox, "echo there"), "there");
  bench.destroy(*sandbox);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Recovery, HalfMadeAndDeadSandboxes_AreRemoved) {
  Workbench bench;
  auto backend = bench.backend();
  auto dead = bench.make(*backend, spec_with(GetParam()));
  auto without_record = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(dead && without_record);
  EXPECT_THAT(bench.ask(*dead, "quit"), HasSubstr("the agent is gone"));
  const std::string run = bench.options().run_dir + "/" + bench.instance() + "/sandboxes/";
  // The channel ends a moment before the process does.
  const auto record = read_record(run + dead->id().value + "/sandbox.json");
  ASSERT_TRUE(record);
  wait_for_end(record->first.pid);
  ASSERT_TRUE(remove_tree(run + without_record->id().value + "/sandbox.json"));
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Recovery, RunDirectoryLost_CgroupAndUidsAreStillFound) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(remove_tree(bench.options().run_dir + "/" + bench.instance()));
  EXPECT_EQ(bench.recover(*backend).size(), 0u);
  EXPECT_EQ(bench.leftovers(), "");
}
INSTANTIATE_TEST_SUITE_P(Runtimes, Recovery, ::testing::Values("crun", "runc", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

}  // namespace
}  // namespace cloche::oci
