// What happens to a run while parts of a real cluster fail. Needs the cluster of tests/kubernetes/cluster, whose parts
// come back by themselves.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "sandbox/live_sandbox.hpp"
#include "support/command.hpp"
#include "support/on_backend.hpp"
#include "support/with_sandbox.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing_support::Target;

class KubernetesFaults : public OnBackend {
 protected:
  void SetUp() override {
    if (std::getenv("CLOCHE_TEST_KUBERNETES_RESTART") == nullptr)
      CLOCHE_CANNOT_TEST("kubernetes", "CLOCHE_TEST_KUBERNETES_RESTART is not set; make test-kubernetes does it");
    OnBackend::SetUp();
  }

  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) {
    run([&]() -> Task<> {
      SandboxSpec spec = testing_support::spec_for(target());
      co_await testing_support::with_sandbox(*backend_, std::move(spec), std::move(body));
    });
  }

  static void restart(const std::string& component) {
    const auto ended =
        testing_support::run_command({.argv = {std::getenv("CLOCHE_TEST_KUBERNETES_RESTART"), component}});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
  static void kubectl(std::vector<std::string> words) {
    const std::string config = std::getenv("CLOCHE_TEST_KUBECONFIG");
    const std::string program = config.substr(0, config.rfind('/')) + "/bin/kubectl";
    words.insert(words.begin(), {program, "--kubeconfig", config});
    const auto ended = testing_support::run_command({.argv = std::move(words)});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }

  // A program counts until a file appears. The part is killed after its first lines; the file is written over the same
  // channel, so it appears when the channel has recovered. Every number must have arrived, in order.
  Task<> count_over_restart(LiveSandbox& sandbox, std::string component) {
    ExecSpec spec = ExecSpec::shell("i=0; while ! test -e stop; do i=$((i+1)); echo $i; sleep 0.02; done; echo end $i");
    spec.keep_output = spec.stop_output = {0};
    auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    std::string printed;
    while (printed.find("\n5\n") == std::string::npos) {
      auto event = co_await (*started)->next(Deadline::after(60s));
      EXPECT_TRUE(event) << event.error().message;
      if (!event) co_return;
      if (const auto* output = std::get_if<Output>(&*event)) printed += output->bytes;
    }
    restart(component);
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/stop", "now");
    EXPECT_TRUE(written) << written.error().message;
    auto sink = [&printed](Output output) { printed += output.bytes; };
    auto outcome = co_await (*started)->read(std::move(sink), Deadline::after(120s));
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) co_return;
    EXPECT_EQ(outcome->exit_code, 0);
    std::string expected;
    const auto end = printed.rfind("end ");
    const int last = end == std::string::npos ? 0 : std::atoi(printed.c_str() + end + 4);
    for (int i = 1; i <= last; ++i) expected += std::to_string(i) + "\n";
    EXPECT_GT(last, 5);
    EXPECT_EQ(printed, expected + "end " + std::to_string(last) + "\n");
  }
};

TEST_P(KubernetesFaults, ApiServerKilledInTheMiddleOfARun_NoByteIsLost) {
  in_sandbox([this](LiveSandbox& sandbox) { return count_over_restart(sandbox, "kube-apiserver"); });
}

TEST_P(KubernetesFaults, KubeletKilledInTheMiddleOfARun_NoByteIsLost) {
  in_sandbox([this](LiveSandbox& sandbox) { return count_over_restart(sandbox, "kubelet"); });
}

TEST_P(KubernetesFaults, ContainerdKilledInTheMiddleOfARun_NoByteIsLost) {
  in_sandbox([this](LiveSandbox& sandbox) { return count_over_restart(sandbox, "containerd"); });
}

TEST_P(KubernetesFaults, PodDeletedByHand_IsALostSandbox) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo started; sleep 1000");
    auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(started);
    if (!started) co_return;
    auto first = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(first);
    kubectl({"delete", "pod", "-l", "cloche.dev/owner=" + instance_.value, "--now"});
    auto end = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(!end && end.error().code == ErrorCode::sandbox_lost);
  });
}

// What `cloche doctor` reports of it.
TEST_P(KubernetesFaults, ExaminationOfAHealthyCluster_FindsAllThatIsNeeded) {
  run([this]() -> Task<> {
    const auto findings = co_await backend_->examine(Deadline::after(60s));
    std::size_t rights = 0;
    bool has_trial = false;
    for (const Finding& finding : findings) {
      if (finding.name.starts_with("kubernetes right to")) ++rights;
      has_trial = has_trial || finding.name == "kubernetes trial";
      EXPECT_NE(finding.level, Finding::Level::missing) << finding.name << ": " << finding.detail;
      EXPECT_EQ(finding.level == Finding::Level::good, finding.advice.empty()) << finding.name;
      std::cout << finding.name << ": " << finding.detail << '\n';
    }
    EXPECT_EQ(rights, 8U);
    EXPECT_TRUE(has_trial);
  });
}

// Not a test of speed: the figures are for people.
TEST_P(KubernetesFaults, Figures_ArePrinted) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  in_sandbox([started](LiveSandbox& sandbox) -> Task<> {
    const auto ms = [](auto span) { return std::chrono::duration<double, std::milli>(span).count(); };
    std::cout << "create, until the agent responds: " << ms(Clock::now() - started) << " ms\n";
    std::vector<double> pings, runs;
    for (int i = 0; i < 100; ++i) {
      const auto before = Clock::now();
      auto pinged = co_await sandbox.ping(Deadline::after(60s));
      EXPECT_TRUE(pinged);
      pings.push_back(ms(Clock::now() - before));
    }
    for (int i = 0; i < 50; ++i) {
      ExecSpec spec = ExecSpec::shell("true");
      const auto before = Clock::now();
      auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
      EXPECT_TRUE(ran);
      runs.push_back(ms(Clock::now() - before));
    }
    for (auto* figures : {&pings, &runs}) std::ranges::sort(*figures);
    std::cout << "ping: " << pings[50] << " ms; run of a shell that does nothing: " << runs[25] << " ms (medians)\n";
  });
}

std::vector<Target> clusters() { return {{"kubernetes", "runc"}, {"kubernetes", "crun"}, {"kubernetes", "gvisor"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, KubernetesFaults, testing::ValuesIn(clusters()),
                         [](const auto& target) { return target.param.runtime; });

}  // namespace
}  // namespace cloche
