// Sandboxes with a shell that lives on, as the library's users see them.
#include "cloche/sandbox_manager.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

#include "library/library.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class SandboxManagerTest : public Library {
 protected:
  SandboxManagerOptions manager_options() const {
    SandboxManagerOptions made;
    made.engine = options();
    return made;
  }
  static SandboxSettings settings() {
    SandboxSettings made;
    made.runtime = "crun";
    return made;
  }
  std::string host(const std::string& name) const { return (scratch_.path() / name).string(); }
  static void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << content;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// The same on a Docker engine.
class SandboxManagerOnDocker : public SandboxManagerTest {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"docker", "runc"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }
  EngineOptions engine() const {
    EngineOptions made = options();
    made.backend = BackendKind::docker;
    made.docker_host = std::getenv("CLOCHE_TEST_DOCKER_HOST");
    return made;
  }
  static SandboxSettings settings() {
    SandboxSettings made;
    made.image = "cloche-test/debian";
    made.runtime = "runc";
    return made;
  }
};

TEST(SandboxSettings, Defaults_AreThoseThatUsersWerePromised) {
  const SandboxSettings settings;
  EXPECT_EQ(settings.image, "python:3.12-slim");
  EXPECT_EQ(settings.work_dir, "/workspace");
  EXPECT_EQ(settings.memory_limit, "512m");
  EXPECT_EQ(settings.cpu_limit, 1.0);
  EXPECT_EQ(settings.timeout, 300s);
  EXPECT_FALSE(settings.network_enabled);
  const SandboxManagerOptions options;
  EXPECT_EQ(options.max_sandboxes, 100u);
  EXPECT_EQ(options.idle_timeout, 3600s);
  EXPECT_EQ(options.cleanup_interval, 300s);
}

TEST_F(SandboxManagerTest, CommandsInARow_FindWhatEarlierOnesLeft) {
  SandboxManager manager(manager_options());
  auto sandbox = manager.get_sandbox(manager.create_sandbox(settings()));
  const ShellResult first = sandbox.run_command("cd /tmp; x='a b'; echo 42; echo; echo err >&2; (exit 3)");
  EXPECT_EQ(first.out, "42\n\n");
  EXPECT_EQ(first.err, "err\n");
  EXPECT_EQ(first.exit_code, 3);
  EXPECT_EQ(sandbox.run_command("echo \"$x $PWD $(id -u)\"").out, "a b /tmp 1000\n");
  EXPECT_EQ(sandbox.run_command("exit 9").exit_code, 9);
  EXPECT_EQ(sandbox.run_command("echo $x").out, "a b\n");
  const ShellResult lost = sandbox.run_command("exec sh -c 'exit 4'");
  EXPECT_EQ(lost.exit_code, 4);
  EXPECT_NE(lost.reason, "");
  EXPECT_TRUE(sandbox.run_command("true").fresh);
}

TEST_F(SandboxManagerTest, CommandThatRunsTooLong_IsThrownAndTheNextOneIsClean) {
  SandboxManager manager(manager_options());
  SandboxSettings impatient = settings();
  impatient.timeout = 1s;
  auto sandbox = manager.get_sandbox(manager.create_sandbox(impatient));
  sandbox.run_command("x=kept");
  try {
    sandbox.run_command("echo on; sleep 100; echo not");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const CommandTimeoutError& error) {
    EXPECT_STREQ(error.what(), "Command execution timed out after 1 seconds");
    EXPECT_EQ(error.so_far().out, "on\n");
  }
  EXPECT_THROW(sandbox.run_command("sleep 100", 200ms), SandboxTimeoutError);
  const ShellResult after = sandbox.run_command("echo $x");
  EXPECT_EQ(after.out, "kept\n");
}

TEST_F(SandboxManagerTest, Files_AreWrittenReadAndCannotLeaveTheWorkDirectory) {
  SandboxManager manager(manager_options());
  auto sandbox = manager.get_sandbox(manager.create_sandbox(settings()));
  sandbox.write_file("a/b.txt", "text");
  EXPECT_EQ(sandbox.read_file("/workspace/a/b.txt"), "text");
  EXPECT_EQ(sandbox.run_command("cat a/b.txt").out, "text");
  EXPECT_THROW(sandbox.read_file("none"), SandboxNotFoundError);
  EXPECT_THROW(sandbox.read_file("../etc/passwd"), SandboxError);
  EXPECT_THROW(sandbox.write_file("/etc/x", "y"), SandboxError);
}

TEST_F(SandboxManagerTest, FilesAndTrees_AreCopiedBothWays) {
  SandboxManager manager(manager_options());
  auto sandbox = manager.get_sandbox(manager.create_sandbox(settings()));
  write(host("in/tool.sh"), "echo ran\n");
  ::chmod(host("in/tool.sh").c_str(), 0755);
  write(host("in/deep/er/data"), std::string(3'000'000, 'x'));
  std::filesystem::create_directories(host("in/empty"));
  std::filesystem::create_symlink("/etc/passwd", host("in/link"));
  const CopyReport in = sandbox.copy_to(host("in"), "tree");
  EXPECT_EQ(in.files, 2u);
  EXPECT_EQ(in.bytes.count, 3'000'009u);
  EXPECT_THAT(in.left_out, ElementsAre("link"));
  EXPECT_EQ(sandbox.run_command("tree/tool.sh || sh tree/tool.sh; wc -c < tree/deep/er/data; ls tree").out,
            "ran\n3000000\ndeep\nempty\ntool.sh\n");
  EXPECT_EQ(sandbox.copy_to(host("in/tool.sh"), "/workspace/one.sh").files, 1u);
  EXPECT_THROW(sandbox.copy_to(host("none"), "x"), SandboxNotFoundError);

  sandbox.run_command("ln -s /etc/passwd tree/evil; mkfifo tree/pipe; echo out > tree/result");
  const CopyReport out = sandbox.copy_from("tree", host("new/out"));
  EXPECT_EQ(out.files, 3u);
  EXPECT_THAT(out.left_out, testing::UnorderedElementsAre("evil", "pipe"));
  EXPECT_EQ(read(host("new/out/result")), "out\n");
  EXPECT_EQ(read(host("new/out/deep/er/data")).size(), 3'000'000u);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(host("new/out/evil"))));
  EXPECT_THROW(sandbox.copy_from("tree", host("new/out")), SandboxError) << "what is there is not mixed with it";
  EXPECT_EQ(sandbox.copy_from("/workspace/tree/result", host("file")).files, 1u);
  EXPECT_EQ(read(host("file")), "out\n");
  EXPECT_THROW(sandbox.copy_from("none", host("x")), SandboxNotFoundError);
  EXPECT_THROW(sandbox.copy_from("tree/pipe", host("x")), SandboxError);
  sandbox.run_command("truncate -s 60M tree/sparse");
  EXPECT_THROW(sandbox.copy_from("tree", host("big"), mib(10)), SandboxResourceError);
  EXPECT_FALSE(std::filesystem::exists(host("big"))) << "nothing is left of a copy that failed";
}

TEST_F(SandboxManagerTest, Volumes_AreSeenInTheSandbox) {
  write(host("volume/file"), "from the host");
  SandboxManager manager(manager_options());
  const std::vector<Mount> volumes{{host("volume"), "/data", Access::read_only}};
  auto sandbox = manager.get_sandbox(manager.create_sandbox(settings(), volumes));
  EXPECT_EQ(sandbox.run_command("cat /data/file; touch /data/x 2>/dev/null || echo no").out, "from the hostno\n");
}

TEST_F(SandboxManagerTest, OneTooManyOrUnknown_IsRefusedInItsWords) {
  SandboxManagerOptions two = manager_options();
  two.max_sandboxes = 2;
  SandboxManager manager(two);
  const std::string one = manager.create_sandbox(settings());
  const std::string other = manager.create_sandbox(settings());
  try {
    manager.create_sandbox(settings());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const SandboxResourceError& error) {
    EXPECT_STREQ(error.what(), "Maximum number of sandboxes (2) reached");
  }
  EXPECT_EQ(manager.get_stats().total_sandboxes, 2u);
  manager.delete_sandbox(one);
  EXPECT_TRUE(cgroups_of(one).empty());
  try {
    manager.get_sandbox(one);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const SandboxNotFoundError& error) {
    EXPECT_EQ(error.what(), "Sandbox " + one + " not found");
  }
  EXPECT_THROW(manager.delete_sandbox(one), SandboxNotFoundError);
  manager.create_sandbox(settings());
  SandboxSettings odd = settings();
  odd.memory_limit = "much";
  manager.delete_sandbox(other);
  EXPECT_THROW(manager.create_sandbox(odd), SandboxArgumentError);
  manager.cleanup();
  EXPECT_EQ(manager.get_stats().total_sandboxes, 0u);
  EXPECT_TRUE(manager.get_stats().is_shutting_down);
  EXPECT_THROW(manager.create_sandbox(settings()), SandboxUnavailableError);
}

TEST_F(SandboxManagerTest, NetworkThatIsEnabled_IsBehindAProxy) {
  SandboxManager manager(manager_options());
  SandboxSettings online = settings();
  online.network_enabled = true;
  const std::string id = manager.create_sandbox(online);
  auto sandbox = manager.get_sandbox(id);
  EXPECT_EQ(sandbox.run_command("echo $HTTP_PROXY $https_proxy").out, "http://127.0.0.1:3128 http://127.0.0.1:3128\n");
  // Addresses that are not public stay out of reach.
  const auto refused = sandbox.run_command(
      "python3 -c \"import urllib.request as r, urllib.error as e\n"
      "try: r.urlopen('http://10.0.0.1/', timeout=20)\n"
      "except e.HTTPError as x: print(x.code)\"");
  EXPECT_EQ(refused.out, "403\n") << refused.err;
  manager.delete_sandbox(id);
}

TEST_F(SandboxManagerTest, SandboxThatIsDeleted_FinishesItsCommandFirst) {
  SandboxManager manager(manager_options());
  const std::string id = manager.create_sandbox(settings());
  auto sandbox = manager.get_sandbox(id);
  auto running =
      std::async(std::launch::async, [&] { return sandbox.run_command("touch begun; sleep 0.5; echo finished"); });
  while (manager.get_stats().active_operations == 0) std::this_thread::yield();
  while (true) {
    try {
      manager.get_sandbox(id).read_file("begun");
      break;
    } catch (const SandboxNotFoundError&) {
    }
  }
  manager.delete_sandbox(id);
  EXPECT_EQ(running.get().out, "finished\n");
  EXPECT_THROW(sandbox.run_command("echo"), SandboxLostError);
}

TEST_F(SandboxManagerTest, IdleSandbox_GoesAndOneInUseStays) {
  SandboxManagerOptions hasty = manager_options();
  hasty.idle_timeout = 300ms;
  hasty.cleanup_interval = 50ms;
  SandboxManager manager(hasty);
  const std::string idle = manager.create_sandbox(settings());
  const std::string busy = manager.create_sandbox(settings());
  auto sandbox = manager.get_sandbox(busy);
  const ShellResult slow = sandbox.run_command("sleep 1.5; echo done");
  EXPECT_EQ(slow.out, "done\n");
  EXPECT_THROW(manager.get_sandbox(idle), SandboxNotFoundError);
  while (manager.get_stats().total_sandboxes > 0) std::this_thread::sleep_for(10ms);
}

TEST_F(SandboxManagerOnDocker, ShellFilesAndLimits_AreAsElsewhere) {
  SandboxManagerOptions two;
  two.engine = engine();
  two.max_sandboxes = 2;
  SandboxManager manager(two);
  const std::string id = manager.create_sandbox(settings());
  auto sandbox = manager.get_sandbox(id);
  const ShellResult first = sandbox.run_command("cd /tmp; x='a b'; echo 42; echo err >&2; (exit 3)");
  EXPECT_EQ(first.out, "42\n");
  EXPECT_EQ(first.err, "err\n");
  EXPECT_EQ(first.exit_code, 3);
  EXPECT_EQ(sandbox.run_command("echo \"$x $PWD $(id -un)\"").out, "a b /tmp sandbox\n");
  EXPECT_THROW(sandbox.run_command("echo on; sleep 100", 500ms), CommandTimeoutError);
  EXPECT_EQ(sandbox.run_command("echo $x").out, "a b\n");

  write(host("in/deep/data"), std::string(3'000'000, 'x'));
  EXPECT_EQ(sandbox.copy_to(host("in"), "tree").files, 1u);
  EXPECT_EQ(sandbox.run_command("wc -c < /workspace/tree/deep/data").out, "3000000\n");
  sandbox.run_command("ln -s /etc/passwd /workspace/tree/evil");
  EXPECT_THAT(sandbox.copy_from("tree", host("out")).left_out, ElementsAre("evil"));
  EXPECT_EQ(read(host("out/deep/data")).size(), 3'000'000u);
  EXPECT_THROW(sandbox.read_file("none"), SandboxNotFoundError);
  EXPECT_THROW(sandbox.read_file("../etc/passwd"), SandboxError);

  manager.create_sandbox(settings());
  EXPECT_THROW(manager.create_sandbox(settings()), SandboxResourceError);
  manager.delete_sandbox(id);
  EXPECT_THROW(sandbox.run_command("echo"), SandboxLostError);
  EXPECT_THROW(manager.get_sandbox(id), SandboxNotFoundError);
  manager.cleanup();
  EXPECT_EQ(manager.get_stats().total_sandboxes, 0u);
}

TEST_F(SandboxManagerOnDocker, MemoryIsLimitedAndVolumesAreSeen) {
  write(host("volume/file"), "from the host");
  SandboxManagerOptions one;
  one.engine = engine();
  SandboxManager manager(one);
  SandboxSettings small = settings();
  small.memory_limit = "64m";
  const std::vector<Mount> volumes{{host("volume"), "/data", Access::read_only}};
  auto sandbox = manager.get_sandbox(manager.create_sandbox(small, volumes));
  EXPECT_EQ(sandbox.run_command("cat /data/file; touch /data/x 2>/dev/null || echo no").out, "from the hostno\n");
  const ShellResult hungry = sandbox.run_command("python3 -c 'x = b\"x\" * (200 << 20)'");
  EXPECT_EQ(hungry.exit_code, 137) << hungry.out << hungry.err;
  EXPECT_EQ(sandbox.run_command("echo still here").out, "still here\n");
}

TEST_F(SandboxManagerOnDocker, ImageThatIsNotToBeHad_IsNamed) {
  SandboxManagerOptions one;
  one.engine = engine();
  SandboxManager manager(one);
  SandboxSettings odd = settings();
  odd.image = "cloche-test/no-such-image";
  try {
    manager.create_sandbox(odd);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const SandboxError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cloche-test/no-such-image"));
  }
  EXPECT_EQ(manager.get_stats().total_sandboxes, 0u);
}

TEST_F(SandboxManagerTest, Client_SaysThatThereIsNoSandboxUntilThereIsOne) {
  SandboxClient client(options());
  EXPECT_THROW(client.run_command("echo"), SandboxArgumentError);
  EXPECT_THROW(client.read_file("x"), SandboxArgumentError);
  client.cleanup();
  client.create(settings());
  EXPECT_THROW(client.create(settings()), SandboxArgumentError);
  client.write_file("greeting", "hello");
  EXPECT_EQ(client.run_command("cat greeting").out, "hello");
  client.copy_from("greeting", host("greeting"));
  client.copy_to(host("greeting"), "again");
  EXPECT_EQ(client.read_file("again"), "hello");
  client.cleanup();
  EXPECT_THROW(client.run_command("echo"), SandboxArgumentError);
  client.create(settings());
  EXPECT_EQ(client.run_command("ls").out, "");
}

}  // namespace
}  // namespace cloche
