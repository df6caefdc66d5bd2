// A GPU that is none: a device node with other numbers than the harmless ones, and a specification that names it. What
// programs can do with it, and what a reset makes sure of.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "conformance/conformance.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

// Not in a coroutine: g++ 12 cannot keep an initializer list there.
ExecSpec shell_spec(const std::string& line) {
  ExecSpec spec;
  spec.argv = {"sh", "-c", line};
  return spec;
}

ExecSpec zygote_spec() {
  ExecSpec spec;
  spec.argv = {"main.py"};
  spec.zygote = "python";
  return spec;
}

}  // namespace

class GpuConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (target().backend != "oci") CLOCHE_DOES_NOT_APPLY("an engine has no device that is made up");
    if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("gVisor knows only NVIDIA's devices");
    const auto node = scratch_.path() / "node";
    // Opening FUSE's device does nothing until something is mounted with it.
    ASSERT_EQ(::mknod(node.c_str(), S_IFCHR | 0666, ::gnu_dev_makedev(10, 229)), 0);
    ::chmod(node.c_str(), 0666);
    const UniqueFd opened(::open(node.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) CLOCHE_CANNOT_TEST("fuse", "its device cannot be opened on this host");
    std::filesystem::create_directories(scratch_.path() / "cdi");
    std::ofstream file(scratch_.path() / "cdi/fake.yaml");
    file << "cdiVersion: 0.5.0\nkind: test.cloche/gpu\ncontainerEdits: {env: [FAKE=yes], mounts: [{hostPath: "
         << std::filesystem::canonical("/lib64/ld-linux-x86-64.so.2").string()
         << ", containerPath: /usr/lib/fake.so}]}\ndevices: [{name: '0', containerEdits: {deviceNodes: [{path: "
            "/dev/fake0, hostPath: "
         << node.string() << "}]}}]\n";
    file.close();
    std::filesystem::permissions(scratch_.path() / "cdi/fake.yaml", std::filesystem::perms(0644));
  }

  SandboxSpec with_gpu() const {
    SandboxSpec one = spec();
    one.gpus.count = 1;
    return one;
  }
};

TEST_P(GpuConformance, Device_OpensInsideAndNotInTheNeighbour) {
  in_two_sandboxes(with_gpu(), spec(), [](LiveSandbox& lucky, LiveSandbox& neighbour) -> Task<> {
    const auto inside = co_await run_shell(lucky, "exec 3<>/dev/fake0 && echo open; echo $FAKE $LD_LIBRARY_PATH");
    EXPECT_EQ(inside.out, "open\nyes /.cloche/gpu/lib\n") << inside.err;
    const auto outside =
        co_await run_shell(neighbour, "(exec 3</dev/fake0); mknod /tmp/n c 10 229; ls /.cloche; env | grep FAKE");
    EXPECT_THAT(outside.err, testing::AllOf(HasSubstr("/dev/fake0"), HasSubstr("mknod")));
    EXPECT_EQ(outside.out.find("gpu"), std::string::npos) << outside.out;
  });
}

TEST_P(GpuConformance, LibrariesAreThere_AlsoForZygotesAndCallersWithTheirOwn) {
  in_sandbox(with_gpu(), [](LiveSandbox& sandbox) -> Task<> {
    ExecSpec own = shell_spec("echo $LD_LIBRARY_PATH; ls /.cloche/gpu/lib");
    own.env["LD_LIBRARY_PATH"] = "/mine";
    const auto ran = co_await run_program(sandbox, std::move(own));
    EXPECT_THAT(ran.out, testing::StartsWith("/mine:/.cloche/gpu/lib\nld-linux-x86-64.so"));
    auto started = co_await sandbox.start_zygote("python", "python3", std::vector<std::string>(), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/main.py", "import os; print(os.environ['LD_LIBRARY_PATH'])");
    EXPECT_TRUE(written) << written.error().message;
    const auto seen = co_await run_program(sandbox, zygote_spec());
    EXPECT_EQ(seen.out, "/.cloche/gpu/lib\n") << seen.err;
  });
}

TEST_P(GpuConformance, ProgramThatKeepsItOpen_IsEndedByAReset) {
  in_sandbox(with_gpu(), [](LiveSandbox& sandbox) -> Task<> {
    ExecSpec daemon = shell_spec("exec 3<>/dev/fake0; exec sleep 1000");
    daemon.lifetime = Lifetime::background;
    auto started = co_await sandbox.start(std::move(daemon));
    EXPECT_TRUE(started) << started.error().message;
    auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_TRUE(reset) << reset.error().message;
    const auto again = co_await run_shell(sandbox, "exec 3<>/dev/fake0 && echo open");
    EXPECT_EQ(again.out, "open\n") << again.err;
  });
}

INSTANTIATE_TEST_SUITE_P(Gpus, GpuConformance, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
