// Users of a sandbox: the name of the programs' user; root and `sudo`, where they are allowed and where not.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

// On an engine only gVisor contains root.
bool contains_root(const Target& target) {
  return target.backend == "oci" || (target.is_gvisor() && !target.is_kubernetes());
}

SandboxSpec with_root(SandboxSpec spec) {
  spec.user = "user";
  spec.root = true;
  return spec;
}

ExecSpec as_root(std::string line) {
  ExecSpec spec = ExecSpec::shell(std::move(line));
  spec.uid = 0;
  return spec;
}

}  // namespace

CONFORMANCE(UserOfASandbox_HasItsName) {
  if (target().is_fake()) CLOCHE_DOES_NOT_APPLY("the fake backend has the host's users");
  SandboxSpec named = spec();
  named.user = "user";
  in_sandbox(named, [](LiveSandbox& sandbox) -> Task<> {
    const auto said = co_await run_shell(sandbox, "echo $USER $LOGNAME; id -un; id -gn");
    EXPECT_EQ(said.out, "user user\nuser\nuser\n") << said.err;
  });
}

CONFORMANCE(SandboxWithoutRoot_HasNoWayToBecomeRoot) {
  const bool has_no_sudo = target().is_fake();  // the host's root
  in_sandbox([has_no_sudo](LiveSandbox& sandbox) -> Task<> {
    EXPECT_FALSE(sandbox.user("root"));
    ExecSpec root = as_root("id -u");
    const auto refused = co_await sandbox.run(std::move(root), Deadline::after(60s));
    EXPECT_FALSE(refused);
    const SandboxUser nobodys{.name = "root"};
    FilePath place("/etc/passwd");
    const auto read = co_await sandbox.files_of(nobodys).stat(std::move(place), Links::follow, Deadline::after(60s));
    EXPECT_FALSE(read);
    if (has_no_sudo) co_return;
    const auto sudo =
        co_await run_shell(sandbox, "/.cloche/bin/sudo id -u; echo $?; grep -c cloche-sudo /proc/net/unix");
    EXPECT_THAT(sudo.err, HasSubstr("sudo: not allowed in this sandbox"));
    EXPECT_THAT(sudo.out, testing::StartsWith("1\n"));
    EXPECT_THAT(sudo.out, testing::Not(HasSubstr("\n1\n")));
  });
}

class RootConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (target().is_fake()) CLOCHE_DOES_NOT_APPLY("the fake backend contains nobody");
    if (!contains_root(target())) CLOCHE_DOES_NOT_APPLY("root of a container would be root of the engine's host");
  }
};

INSTANTIATE_TEST_SUITE_P(Roots, RootConformance, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& each) { return each.param.name(); });

#define ROOT_CASE(name) TEST_P(RootConformance, name)

CONFORMANCE(RootOnAnEngineThatDoesNotContainIt_IsRefused) {
  if (target().is_fake() || contains_root(target())) CLOCHE_DOES_NOT_APPLY("this backend contains root");
  run([this]() -> Task<> {
    auto made = co_await create(with_root(spec()));
    EXPECT_FALSE(made);
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::unsupported) << made.error().message;
    }
    if (made) co_await (*made)->destroy(Deadline::after(60s));
  });
}

ROOT_CASE(Root_HasItsHomeAndPowerOverTheSandboxsFiles) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    co_await run_shell(sandbox, "echo mine > f; chmod 600 f");
    // Not by stat(1), which old releases of gVisor do not let look at files.
    ExecSpec root = as_root(
        "id -u; id -un; echo $HOME $USER; echo x > ~/f && cat ~/f; cat f; chown 0:0 f; test -O f && echo 0; grep "
        "CapEff "
        "/proc/self/status");
    const auto said = co_await run_program(sandbox, std::move(root));
    EXPECT_THAT(said.out, testing::StartsWith("0\nroot\n/root root\nx\nmine\n0\n")) << said.err;
    // chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service; gVisor has the same bits.
    EXPECT_THAT(said.out, HasSubstr("CapEff:\t00000000000004fb")) << said.out;
  });
}

ROOT_CASE(Root_CannotDoWhatOpensMoreOfTheKernel) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    // gVisor lets anyone make a node, of a device of its own.
    if (sandbox.kernel() == Kernel::shared) {
      ExecSpec device = as_root("mknod /tmp/d c 1 3");
      const auto said = co_await run_program(sandbox, std::move(device));
      EXPECT_NE(said.outcome.exit_code, 0);
    }
    for (const char* line : {"mount -t tmpfs x /tmp", "chroot /tmp /bin/true", "unshare -m true",
                             "echo 1 > /proc/sys/kernel/panic", "echo x > /usr/bin/planted", "dmesg -C"}) {
      ExecSpec root = as_root(line);
      const auto said = co_await run_program(sandbox, std::move(root));
      EXPECT_NE(said.outcome.exit_code, 0) << line;
    }
  });
}

ROOT_CASE(FilesOfRoot_AreWrittenAndReadAsRoot) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    const auto root = sandbox.user("root");
    EXPECT_TRUE(root);
    if (!root) co_return;
    FilePath place("/root/dir/hello.txt");
    std::string content = "hi";
    const auto written = co_await sandbox.files_of(*root).write(place, std::move(content));
    EXPECT_TRUE(written) << written.error().message;
    const FileRange whole;
    const auto read = co_await sandbox.files_of(*root).read(place, whole, kib(1));
    EXPECT_TRUE(read && read->bytes == "hi");
    const auto refused = co_await sandbox.files().read(place, whole, kib(1));
    EXPECT_FALSE(refused);
  });
}

ROOT_CASE(SandboxWithRoot_IsNeverReset) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    const auto reset = co_await sandbox.reset(Deadline::after(60s));
    EXPECT_FALSE(reset);
    if (!reset) {
      EXPECT_EQ(reset.error().code, ErrorCode::unsupported);
    }
  });
}

ROOT_CASE(Sudo_RunsCommandsWithTheCallersDescriptorsAndDirectory) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    const auto said = co_await run_shell(
        sandbox,
        "mkdir d; cd d; echo in | sudo sh -c 'id -u; pwd; cat; echo err >&2; echo $SUDO_USER $HOME'; "
        "sudo -n false; echo $?; sudo A=1 sh -c 'echo $A'; export B=2; sudo -E sh -c 'echo $B'; sudo sh -c 'echo "
        "-$B-'; "
        "sudo -u user id -un; sudo sh -c 'kill -TERM $$'; echo $?; sudo no-such-command; echo $?; sudo sudo id -u");
    EXPECT_EQ(said.out, "0\n" + sandbox.spec().work_dir + "/d\nin\nuser /root\n1\n1\n2\n--\nuser\n143\n1\n0\n")
        << said.err;
    EXPECT_THAT(said.err, HasSubstr("err\n"));
    EXPECT_THAT(said.err, HasSubstr("sudo: no-such-command: command not found"));
  });
}

ROOT_CASE(Sudo_IsFoundByALoginShell) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    const auto said =
        co_await run_shell(sandbox, "if command -v bash > /dev/null; then bash -lc 'sudo id -u'; else echo 0; fi");
    EXPECT_EQ(said.out, "0\n") << said.err;
  });
}

ROOT_CASE(CommandOfSudo_EndsWithItsProgram) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    // The command leaves its client, its session and its parent, and is part of the program all the same.
    ExecSpec slow = ExecSpec::shell("sudo sh -c 'echo started; exec sleep 1000' & sudo sleep 1000");
    slow.wall_limit = 2s;
    const auto ended = co_await run_program(sandbox, std::move(slow));
    EXPECT_EQ(ended.outcome.ending, Ending::wall_limit);
    ExecSpec look = as_root("for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep -c '^sleep 1000'");
    const auto left = co_await run_program(sandbox, std::move(look));
    EXPECT_EQ(left.out, "0\n");
  });
}

ROOT_CASE(SignalToSudo_ReachesTheCommand) {
  in_sandbox(with_root(spec()), [](LiveSandbox& sandbox) -> Task<> {
    const auto said =
        co_await run_shell(sandbox,
                           "sudo sh -c 'trap \"echo got; exit 7\" TERM; echo ready > /tmp/ready; while :; "
                           "do sleep 0.05; done' & while ! [ -e /tmp/ready ]; do sleep 0.05; done; kill "
                           "-TERM $!; wait $!; echo $?");
    EXPECT_EQ(said.out, "got\n7\n") << said.err;
  });
}

ROOT_CASE(LimitsOfProcessesAndMemory_HoldForRoot) {
  SandboxSpec small = with_root(spec());
  small.limits.pids = 40;
  small.limits.memory = mib(512);  // forty interpreters on gVisor
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    ExecSpec bomb;
    bomb.argv = {"python3", "-c",
                 "import os, time\n"
                 "n = 0\n"
                 "try:\n"
                 "  while n < 500:\n"
                 "    if os.fork() == 0: time.sleep(1000)\n"
                 "    n += 1\n"
                 "except OSError: pass\n"
                 "print(n < 40, flush=True)\n"
                 "os._exit(0)\n"};
    bomb.uid = 0;
    const auto said = co_await run_program(sandbox, std::move(bomb));
    EXPECT_EQ(said.out, "True\n") << said.err;
    ExecSpec eater;
    eater.argv = {"python3", "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))"};
    eater.uid = 0;
    const auto ended = co_await sandbox.run(std::move(eater), Deadline::after(60s));
    if (ended) {
      EXPECT_NE(ended->outcome.exit_code, 0);
    }
  });
}

}  // namespace cloche
