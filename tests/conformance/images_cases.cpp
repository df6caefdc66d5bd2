// Sandboxes from images that have little or nothing in them: the agent brings all it needs.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "conformance/conformance.hpp"

namespace cloche {

namespace {

std::string bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The image with that name on this target; empty if there is none.
std::string image_named(const Target& target, const std::string& name) {
  if (target.backend == "docker") return "cloche-test/" + name;
  if (target.is_kubernetes()) return "cloche.local/" + name + ":test";
  const char* roots = std::getenv("CLOCHE_TEST_ROOTS");
  return roots == nullptr ? std::string() : std::string(roots) + "/" + name;
}

}  // namespace

#define CLOCHE_NEEDS_IMAGE(variable, name)      \
  if (fake_has_no("images")) return;            \
  auto variable = spec();                       \
  variable.image = image_named(target(), name); \
  if (variable.image.empty()) CLOCHE_CANNOT_TEST("roots", "CLOCHE_TEST_ROOTS names no directory")

CONFORMANCE(DebianImage_RunsPython) {
  CLOCHE_NEEDS_IMAGE(image, "debian");
  in_sandbox(image, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, "import os, pwd; print(pwd.getpwuid(os.getuid()).pw_name, 6 * 7)");
    EXPECT_EQ(ran.out, "sandbox 42\n") << ran.err;
  });
}

CONFORMANCE(BusyboxImageWithoutGlibc_RunsAShell) {
  CLOCHE_NEEDS_IMAGE(image, "busybox");
  in_sandbox(image, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(
        sandbox, "echo $((6 * 7)); id -u; touch /workspace/x && echo writable; touch /x 2>/dev/null || echo read-only");
    const std::string uid = std::to_string(uid_of(sandbox.spec()));
    EXPECT_EQ(ran.out, "42\n" + uid + "\nwritable\nread-only\n") << ran.err;
    const auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_TRUE(reset) << reset.error().message;
  });
}

CONFORMANCE(EmptyImage_RunsAStaticProgramOfTheCaller) {
  CLOCHE_NEEDS_IMAGE(image, "empty");
  in_sandbox(image, [](LiveSandbox& sandbox) -> Task<> {
    WriteOptions executable;
    executable.mode = 0755;
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/hello", bytes_of(CLOCHE_TEST_HELLO), executable);
    EXPECT_TRUE(written) << written.error().message;
    const auto ran = co_await run_words(sandbox, "./hello");
    const std::string uid = std::to_string(uid_of(sandbox.spec()));
    EXPECT_EQ(ran.out, "hello from nowhere, uid " + uid + "\n") << ran.outcome.reason;
    const auto shell = co_await run_shell(sandbox, "true");
    EXPECT_EQ(shell.outcome.ending, Ending::not_started);
  });
}

CONFORMANCE(WorkDirectoryDeepInTheImage_IsWritable) {
  CLOCHE_NEEDS_IMAGE(image, "debian");
  image.work_dir = "/home/someone/project";
  in_sandbox(image, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "pwd; touch x && echo *");
    EXPECT_EQ(ran.out, "/home/someone/project\nx\n") << ran.err;
  });
}

CONFORMANCE(ArchivesAndLayouts_AreRootFilesystemsToo) {
  if (target().backend != "oci") CLOCHE_DOES_NOT_APPLY("only the oci backend reads images itself");
  const char* roots = std::getenv("CLOCHE_TEST_ROOTS");
  if (roots == nullptr) CLOCHE_CANNOT_TEST("roots", "CLOCHE_TEST_ROOTS names no directory");
  for (const char* name : {"/busybox.docker.tar", "/busybox.oci"}) {
    auto image = spec();
    image.image = std::string(roots) + name;
    in_sandbox(image, [](LiveSandbox& sandbox) -> Task<> {
      const auto ran = co_await run_shell(sandbox, "echo inside; echo /bin/busy*");
      EXPECT_EQ(ran.out, "inside\n/bin/busybox\n") << ran.err;
    });
  }
}

CONFORMANCE(HostDirectory_IsSeenThroughAMount) {
  if (target().backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_REMOTE") != nullptr)
    CLOCHE_DOES_NOT_APPLY("the engine is remote");
  const auto data = scratch_.path() / "data";
  std::filesystem::create_directory(data);
  std::ofstream(data / "file") << "from the host\n";
  auto mounted = spec();
  mounted.mounts.push_back({data, "/data", Access::read_only});
  in_sandbox(mounted, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "cat /data/file; touch /data/x 2>/dev/null || echo read-only");
    EXPECT_EQ(ran.out, "from the host\nread-only\n") << ran.err;
  });
}

}  // namespace cloche
