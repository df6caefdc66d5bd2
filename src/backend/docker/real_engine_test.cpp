// The backend with a real engine and every runtime that the engine has. A small static program replaces the agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/engine/engine_facts.hpp"
#include "backend/docker/engine/image_calls.hpp"
#include "backend/docker/labels.hpp"
#include "backend/docker/testing/real_engine.hpp"
#include "core/async/task_group.hpp"
#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::docker {
namespace {

using namespace std::chrono_literals;
using testing::RealEngine;

class OnRealEngine : public RealEngine {};

class OnEveryRuntime : public RealEngine, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    RealEngine::SetUp();
    if (!engine_) return;
    bool has_it = false;
    run([&]() -> Task<> {
      auto facts = co_await fetch_facts(*engine_, soon());
      has_it = facts && facts->find_runtime(GetParam()) != nullptr;
      is_gvisor_ = facts && facts->kernel_of(GetParam()) == Kernel::own;
    });
    if (has_it) return;
    CLOCHE_CANNOT_TEST(GetParam(), "the engine has no such runtime");
  }
  SandboxSpec wanted(std::string image = "cloche-test/busybox") { return spec(GetParam(), std::move(image)); }
  bool is_gvisor() const { return is_gvisor_; }

 private:
  bool is_gvisor_ = false;
};

INSTANTIATE_TEST_SUITE_P(Runtimes, OnEveryRuntime, ::testing::Values("runc", "crun", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

TEST_P(OnEveryRuntime, Lines_PassBothWays) {
  with_sandbox(wanted(), [this](Enclosure& sandbox) -> Task<> {
    EXPECT_EQ(sandbox.runtime(), GetParam());
    for (int i = 0; i < 100; ++i) {
      const std::string line = "line " + std::to_string(i);
      auto written = co_await sandbox.channel().write_all(line + "\n");
      EXPECT_TRUE(written);
      const std::string heard = co_await read_line(sandbox.channel());
      EXPECT_EQ(heard, line);
    }
  });
}

TEST_P(OnEveryRuntime, MegabytesOfAnyBytes_PassBothWays) {
  with_sandbox(wanted("cloche-test/empty"), [this](Enclosure& sandbox) -> Task<> {
    Channel& channel = sandbox.channel();
    auto written = co_await channel.write_all("!raw\n");
    EXPECT_TRUE(written);
    std::string sent(8 << 20, '\0');
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("write", [&]() -> Task<> {
      for (std::size_t at = 0; at < sent.size(); at += 100'000) {
        auto part = co_await channel.write_all(std::string_view(sent).substr(at, 100'000));
        EXPECT_TRUE(part);
      }
    });
    std::string heard;
    std::vector<char> room(256 << 10);
    while (heard.size() < sent.size()) {
      auto count = co_await channel.read_some(room);
      EXPECT_TRUE(count && *count > 0);
      if (!count || *count == 0) break;
      heard.append(room.data(), *count);
    }
    co_await tasks.join();
    EXPECT_TRUE(heard == sent);
  });
}

TEST_P(OnEveryRuntime, Walls_AreUp) {
  with_sandbox(wanted(), [this](Enclosure& sandbox) -> Task<> {
    Channel& channel = sandbox.channel();
    const auto expect = [&](std::string command, std::string expected) -> Task<> {
      const std::string said = co_await shell(channel, command);
      EXPECT_EQ(said, expected) << command;
    };
    co_await expect("id -u; id -g", "1000\n1000\n= 0");
    co_await expect("touch /here 2>/dev/null", "= 1");
    co_await expect("touch /.cloche/x 2>/dev/null", "= 1");
    co_await expect("ls -ld /.cloche /.cloche/agent | cut -c1-10", "drwxr-xr-x\n-rwxr-xr-x\n= 0");
    co_await expect("cd /workspace && echo x > f && cat f && stat -c '%a %u %g' .", "x\n755 1000 1000\n= 0");
    co_await expect("echo x > /tmp/f && stat -c %a /tmp", "1777\n= 0");
    co_await expect("cp /bin/busybox /workspace/busybox && /workspace/busybox true", "= 0");
    co_await expect("ls /sys/class/net 2>/dev/null | grep -v -x lo | wc -l", "0\n= 0");
    co_await expect("grep -c -E '^Cap(Inh|Prm|Eff):.0000000000000000$' /proc/self/status", "3\n= 0");
    co_await expect("kill -0 1 2>/dev/null", "= 1");
    co_await expect("dd if=/dev/zero of=/workspace/big bs=1M count=80 2>/dev/null; du -m /workspace/big | cut -f1",
                    "63\n= 0");
    co_await expect("rm /workspace/big; ulimit -c", "0\n= 0");
    co_await expect("hostname", "sandbox\n= 0");
    if (is_gvisor()) co_return;  // it has its own kernel and reports less about it
    co_await expect("grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | cut -f2", "1\n2\n= 0");
    co_await expect("cat /proc/1/environ 2>/dev/null | wc -c", "0\n= 0");
  });
}

TEST_P(OnEveryRuntime, MemoryKillOfTheWholeSandbox_IsEvidence) {
  with_sandbox(wanted(), [this](Enclosure& sandbox) -> Task<> {
    const std::string said = co_await order(sandbox.channel(), "!gorge 400");
    EXPECT_EQ(said, "|end");
    auto evidence = co_await sandbox.evidence();
    EXPECT_TRUE(evidence) << evidence.error().message;
    if (evidence) {
      EXPECT_GE(evidence->oom_kills, 1u);
    }
  });
}

TEST_P(OnEveryRuntime, MemoryKillOfAProgram_IsEvidence) {
  with_sandbox(wanted(), [this](Enclosure& sandbox) -> Task<> {
    const std::string said = co_await order(sandbox.channel(), "!eat 400");
    // gVisor's whole kernel is what the host's kernel kills.
    EXPECT_EQ(said, is_gvisor() ? "|end" : "= 137");
    auto evidence = co_await sandbox.evidence();
    EXPECT_TRUE(evidence) << evidence.error().message;
    if (evidence) {
      EXPECT_GE(evidence->oom_kills, 1u);
    }
    if (evidence && !is_gvisor()) {
      EXPECT_GT(evidence->memory_peak.value_or(Bytes{}), mib(64));
    }
  });
}

TEST_P(OnEveryRuntime, EndWithoutAMemoryKill_IsNoEvidenceOfOne) {
  for (const char* end : {"!exit 137", "!exit 0"}) {
    with_sandbox(wanted(), [this, end](Enclosure& sandbox) -> Task<> {
      const std::string said = co_await order(sandbox.channel(), end);
      EXPECT_EQ(said, "|end");
      auto evidence = co_await sandbox.evidence();
      EXPECT_TRUE(evidence) << evidence.error().message;
      if (evidence) {
        EXPECT_EQ(evidence->oom_kills, 0u);
      }
    });
  }
}

TEST_P(OnEveryRuntime, Limits_ChangeWhileItLivesOrTheChangeIsRefused) {
  with_sandbox(wanted(), [this](Enclosure& sandbox) -> Task<> {
    Limits larger = sandbox.spec().limits;
    larger.memory = mib(256);
    larger.pids = 100;
    larger.cpus = 0.5;
    auto set = co_await sandbox.set_limits(larger);
    if (is_gvisor()) {
      EXPECT_FALSE(set);
      if (!set) {
        EXPECT_EQ(set.error().code, ErrorCode::unsupported);
      }
      EXPECT_EQ(sandbox.spec().limits.memory, mib(96));
      co_return;
    }
    EXPECT_TRUE(set) << set.error().message;
    EXPECT_EQ(sandbox.spec().limits.memory, mib(256));
    const std::string said = co_await order(sandbox.channel(), "!eat 150");
    EXPECT_EQ(said, "= 0");
    // Less than is in use: the kernel refuses, and what was set before still holds.
    const std::string held =
        co_await shell(sandbox.channel(), "dd if=/dev/zero of=/workspace/f bs=1M count=60 2>/dev/null");
    EXPECT_EQ(held, "= 0");
    Limits smaller = larger;
    smaller.memory = mib(16);
    smaller.pids = 50;
    auto refused = co_await sandbox.set_limits(smaller);
    EXPECT_FALSE(refused);
    EXPECT_EQ(sandbox.spec().limits.memory, mib(256));
    const std::string again = co_await order(sandbox.channel(), "!eat 100");
    EXPECT_EQ(again, "= 0");
  });
}

TEST_P(OnEveryRuntime, RestartedServer_FindsItsSandboxAndNoOther) {
  run([this]() -> Task<> {
    SandboxId id;
    {
      auto first = backend();
      auto asked = wanted();
      auto enclosure = co_await first->create(std::move(asked), soon());
      EXPECT_TRUE(enclosure) << enclosure.error().message;
      if (!enclosure) co_return;
      id = (*enclosure)->id();
      auto written = co_await (*enclosure)->channel().write_all("before\n");
      EXPECT_TRUE(written);
      const std::string heard = co_await read_line((*enclosure)->channel());
      EXPECT_EQ(heard, "before");
    }
    DockerOptions of_another = options();
    of_another.instance = {instance_ + "-other"};
    auto other = backend(of_another);
    auto none = co_await other->recover(soon());
    EXPECT_TRUE(none && none->empty());
    auto second = backend();
    auto living = co_await second->recover(soon());
    EXPECT_TRUE(living) << living.error().message;
    EXPECT_EQ(living->size(), 1u);
    if (living->empty()) co_return;
    Enclosure& enclosure = *living->front();
    EXPECT_EQ(enclosure.id(), id);
    EXPECT_EQ(enclosure.runtime(), GetParam());
    EXPECT_EQ(enclosure.spec().limits.pids, 64u);
    auto written = co_await enclosure.channel().write_all("after\n");
    EXPECT_TRUE(written);
    const std::string heard = co_await read_line(enclosure.channel());
    EXPECT_EQ(heard, "after");
    auto destroyed = co_await enclosure.destroy(soon());
    EXPECT_TRUE(destroyed);
  });
}

TEST_P(OnEveryRuntime, Binds_GoThroughTheMapAndKeepTheirAccess) {
  const auto directory = std::filesystem::temp_directory_path() / ("cloche-bind-" + random_hex(6));
  std::filesystem::create_directories(directory / "in");
  std::ofstream(directory / "in" / "file") << "from outside\n";
  DockerOptions mapped = options();
  mapped.host_path_map = {{"/as/cloche/sees", directory.string()}};
  SandboxSpec asked = wanted();
  asked.mounts = {{"/as/cloche/sees/in", "/mnt/in", Access::read_only}};
  with_sandbox(mapped, asked, [this](Enclosure& sandbox) -> Task<> {
    const std::string said = co_await shell(sandbox.channel(), "cat /mnt/in/file; touch /mnt/in/x 2>/dev/null");
    EXPECT_EQ(said, "from outside\n= 1");
  });
  std::filesystem::remove_all(directory);
}

TEST_P(OnEveryRuntime, Destroy_EndsWhatRunsAndCanBeRepeated) {
  run([this]() -> Task<> {
    auto made = backend();
    auto asked = wanted();
    auto enclosure = co_await made->create(std::move(asked), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    auto written = co_await (*enclosure)->channel().write_all("!sh sleep 1000\n");
    EXPECT_TRUE(written);
    for (int i = 0; i < 2; ++i) {
      auto destroyed = co_await (*enclosure)->destroy(soon());
      EXPECT_TRUE(destroyed) << destroyed.error().message;
    }
    auto evidence = co_await (*enclosure)->evidence();
    EXPECT_FALSE(evidence);
    if (!evidence) {
      EXPECT_EQ(evidence.error().code, ErrorCode::sandbox_lost);
    }
  });
}

TEST_F(OnRealEngine, ManyAtOnce_AllComeUpFromOneDerivedImage) {
  run([this]() -> Task<> {
    auto made = backend();
    TaskGroup tasks(io_.get_executor());
    int done = 0;
    for (int i = 0; i < 6; ++i) {
      tasks.spawn("sandbox", [&, i]() -> Task<> {
        auto asked = spec(i % 2 == 0 ? "runc" : "crun", "cloche-test/empty");
        auto enclosure = co_await made->create(std::move(asked), soon());
        EXPECT_TRUE(enclosure) << enclosure.error().message;
        if (!enclosure) co_return;
        auto written = co_await (*enclosure)->channel().write_all("hello\n");
        EXPECT_TRUE(written);
        const std::string heard = co_await read_line((*enclosure)->channel());
        EXPECT_EQ(heard, "hello");
        auto destroyed = co_await (*enclosure)->destroy(soon());
        EXPECT_TRUE(destroyed) << destroyed.error().message;
        ++done;
      });
    }
    co_await tasks.join();
    EXPECT_EQ(done, 6);
  });
}

TEST_F(OnRealEngine, BadWishes_AreRefusedByNameAndLeaveNothing) {
  run([this]() -> Task<> {
    auto made = backend();
    const auto refused = [&](SandboxSpec asked, ErrorCode code, std::string words) -> Task<> {
      auto enclosure = co_await made->create(std::move(asked), soon());
      EXPECT_FALSE(enclosure);
      if (enclosure) co_return;
      EXPECT_EQ(enclosure.error().code, code) << enclosure.error().message;
      EXPECT_NE(enclosure.error().message.find(words), std::string::npos) << enclosure.error().message;
    };
    co_await refused(spec("runc", "cloche-test/nosuch"), ErrorCode::not_found, "cloche-test/nosuch");
    co_await refused(spec("kata"), ErrorCode::unsupported, "runsc");
    SandboxSpec no_source = spec("runc");
    no_source.mounts = {{"/nonexistent/source", "/mnt", Access::read_only}};
    co_await refused(no_source, ErrorCode::invalid_argument, "/nonexistent/source");
    DockerOptions pulling = options();
    pulling.pull = PullPolicy::if_missing;
    made = backend(pulling);
    co_await refused(spec("runc", "localhost:1/nosuch"), ErrorCode::not_found, "localhost:1/nosuch");
  });
}

TEST_F(OnRealEngine, AgentThatIsNoProgram_EndsAtOnceAndIsNoMemoryKill) {
  const auto path = std::filesystem::temp_directory_path() / ("cloche-no-agent-" + random_hex(6));
  std::ofstream(path) << "this is no program " << path;
  DockerOptions with_it = options();
  with_it.agent_path = path;
  with_sandbox(with_it, spec("runc"), [this](Enclosure& sandbox) -> Task<> {
    const std::string said = co_await read_line(sandbox.channel());
    EXPECT_EQ(said, "|end");
    auto evidence = co_await sandbox.evidence();
    EXPECT_TRUE(evidence && evidence->oom_kills == 0);
  });
  remove_derived(path);
  std::filesystem::remove(path);
}

// A tar archive with one file, as a build's context.
http::BodySource context_with(std::string dockerfile) {
  std::string header(512, '\0');
  std::string("Dockerfile").copy(header.data(), 100);
  std::snprintf(header.data() + 100, 8, "%07o", 0644);
  std::snprintf(header.data() + 124, 12, "%011zo", dockerfile.size());
  std::memset(header.data() + 148, ' ', 8);
  header[156] = '0';
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(header.data() + 148, 8, "%06o", sum);
  dockerfile.resize((dockerfile.size() + 511) / 512 * 512 + 1024);
  auto rest = std::make_shared<std::string>(header + dockerfile);
  return [rest]() -> Task<Result<std::string>> {
    std::string piece = rest->substr(0, 700);
    rest->erase(0, piece.size());
    co_return piece;
  };
}

TEST_F(OnRealEngine, BuiltImageWithVolumes_GivesNoWritablePlaceAndNoVolume) {
  const std::string tag = "cloche-test/volumes-" + random_hex(4);
  run([this, tag]() -> Task<> {
    BuildSettings settings;
    settings.tag = tag;
    std::vector<std::string> lines;
    Progress progress = [&lines](std::string_view line) { lines.emplace_back(line); };
    auto context = context_with(
        "FROM cloche-test/busybox\nVOLUME /data\nVOLUME /data/deep\nENV A=b\nHEALTHCHECK CMD false\nUSER 1000\n");
    auto built = co_await build_image(*engine_, settings, std::move(context), std::move(progress), soon());
    EXPECT_TRUE(built) << built.error().message;
    EXPECT_FALSE(lines.empty());
    settings.tag = tag + "-broken";
    auto bad = context_with("FROM cloche-test/busybox\nRUN false\n");
    auto failed = co_await build_image(*engine_, settings, std::move(bad), nullptr, soon());
    EXPECT_FALSE(failed);
    if (!failed) {
      EXPECT_NE(failed.error().message.find("returned a non-zero code"), std::string::npos) << failed.error().message;
    }
  });
  with_sandbox(spec("runc", tag), [this](Enclosure& sandbox) -> Task<> {
    const std::string said = co_await shell(sandbox.channel(), "touch /data/x /data/deep/x 2>&1 | grep -c Read-only");
    EXPECT_EQ(said, "2\n= 0");
    LabelMap wanted;
    wanted[labels::sandbox] = sandbox.id().value;
    auto found = co_await list_containers(*engine_, std::move(wanted), soon());
    EXPECT_TRUE(found && found->size() == 1);
    if (!found || found->empty()) co_return;
    Call call;
    call.method = "GET";
    call.path = "/containers/" + found->front().id + "/json";
    call.accepts = {200};
    auto details = co_await engine_->call(std::move(call), soon());
    EXPECT_TRUE(details);
    if (details) {
      EXPECT_EQ(boost::json::serialize(*json::find(details->body, "Mounts")), "[]");
    }
  });
  run([this, tag]() -> Task<> {
    // The sandbox image holds on to its base.
    auto retagged = co_await tag_image(*engine_, tag, tag, "second", soon());
    EXPECT_TRUE(retagged);
    for (const std::string& name : {tag + ":second", tag}) {
      auto removed = co_await remove_image(*engine_, name, soon());
      EXPECT_TRUE(removed) << removed.error().message;
    }
  });
}

TEST_F(OnRealEngine, ContainersLeftHalfDerived_AreRemovedByRecover) {
  run([this]() -> Task<> {
    json::object body;
    body["Image"] = "cloche-test/busybox";
    body["Cmd"] = json::array{"x"};
    body["Labels"] = json::object{{labels::deriving_owner, instance_}, {labels::deriving, "x"}};
    auto created = co_await create_container(*engine_, "cloche-test-" + random_hex(6), std::move(body), soon());
    EXPECT_TRUE(created) << created.error().message;
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living && living->empty());
    const std::size_t left = co_await count_containers(labels::deriving_owner, instance_);
    EXPECT_EQ(left, 0u);
  });
}

TEST_F(OnRealEngine, Auto_TakesGvisorWhenItIsThere) {
  with_sandbox(spec("auto"), [this](Enclosure& sandbox) -> Task<> {
    auto facts = co_await fetch_facts(*engine_, soon());
    EXPECT_TRUE(facts);
    if (facts) {
      const bool has_gvisor = std::ranges::any_of(
          facts->runtimes, [](const EngineRuntime& runtime) { return runtime.kernel() == Kernel::own; });
      EXPECT_EQ(sandbox.kernel(), has_gvisor ? Kernel::own : Kernel::shared) << sandbox.runtime();
    }
  });
}

TEST_F(OnRealEngine, Examine_StartsASandboxWithTheRuntimesItWouldUse) {
  run([this]() -> Task<> {
    auto facts = co_await fetch_facts(*engine_, soon());
    auto made = backend();
    auto findings = co_await made->examine(Deadline::after(60s));
    for (const std::string& runtime : {facts->default_runtime, choose_runtime(*facts, "auto").value()}) {
      const auto found = std::ranges::find(findings, "docker runtime " + runtime, &Finding::name);
      EXPECT_TRUE(found != findings.end());
      if (found != findings.end()) {
        EXPECT_EQ(found->level, Finding::Level::good) << found->detail;
      }
    }
  });
}

TEST_F(OnRealEngine, ContainerRemovedBehindOurBack_EndsTheChannelAndIsSaid) {
  with_sandbox(spec("runc"), [this](Enclosure& sandbox) -> Task<> {
    LabelMap wanted;
    wanted[labels::sandbox] = sandbox.id().value;
    auto found = co_await list_containers(*engine_, std::move(wanted), soon());
    EXPECT_TRUE(found && found->size() == 1);
    if (!found || found->empty()) co_return;
    auto removed = co_await remove_container(*engine_, found->front().id, soon());
    EXPECT_TRUE(removed);
    const std::string said = co_await read_line(sandbox.channel());
    EXPECT_EQ(said, "|end");
    auto evidence = co_await sandbox.evidence();
    EXPECT_FALSE(evidence);
    if (!evidence) {
      EXPECT_EQ(evidence.error().code, ErrorCode::sandbox_lost);
    }
  });
}

class OnTlsEngine : public RealEngine {
 protected:
  void SetUp() override {
    const char* host = std::getenv("CLOCHE_TEST_DOCKER_TLS_HOST");
    const char* certificates = std::getenv("CLOCHE_TEST_DOCKER_CERT_PATH");
    if (!host || !certificates) {
      CLOCHE_CANNOT_TEST("docker-tls", "CLOCHE_TEST_DOCKER_TLS_HOST and CLOCHE_TEST_DOCKER_CERT_PATH name no engine");
    }
    RealEngine::SetUp();
    host_ = host;
    certificates_ = certificates;
  }
};

TEST_F(OnTlsEngine, Sandbox_WorksAsOverTheSocket) {
  with_sandbox(spec("runc"), [this](Enclosure& sandbox) -> Task<> {
    for (int i = 0; i < 20; ++i) {
      auto written = co_await sandbox.channel().write_all("over tls\n");
      EXPECT_TRUE(written);
      const std::string heard = co_await read_line(sandbox.channel());
      EXPECT_EQ(heard, "over tls");
    }
  });
}

TEST_F(OnTlsEngine, WithoutCertificates_NothingIsSaid) {
  run([this]() -> Task<> {
    DockerOptions plain = options();
    plain.certificates = "";
    auto made = backend(plain);
    auto findings = co_await made->examine(Deadline::after(10s));
    EXPECT_EQ(findings.at(0).level, Finding::Level::missing);
  });
}

}  // namespace
}  // namespace cloche::docker
