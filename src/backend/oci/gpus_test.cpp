// Sandboxes with GPUs that are none: device nodes with other numbers than the harmless ones, and a specification that
// names them.
#include "backend/oci/gpus.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>

#include "backend/oci/files.hpp"
#include "backend/oci/runtime/runtime.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Opening FUSE's device does nothing until something is mounted with it.
constexpr unsigned fuse_major = 10, fuse_minor = 229, unused_minor = 230;

std::string library_of_host() {
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6"}) {
    if (path_exists(path)) return path;
  }
  return {};
}

bool make_node(const std::string& path, unsigned minor) {
  return ::mknod(path.c_str(), S_IFCHR | 0666, ::gnu_dev_makedev(fuse_major, minor)) == 0 &&
         ::chmod(path.c_str(), 0666) == 0;
}

// Two GPUs: fake0, which can be opened, and fake1.
void make_up_gpus(const Workbench& bench) {
  ASSERT_TRUE(make_directory(bench.scratch() / "cdi", 0755));
  ASSERT_TRUE(make_directory(bench.scratch() / "nodes", 0755));
  ASSERT_TRUE(make_node(bench.scratch() / "nodes/fake0", fuse_minor));
  ASSERT_TRUE(make_node(bench.scratch() / "nodes/fake1", unused_minor));
  const std::string nodes = bench.scratch() / "nodes/";
  ASSERT_TRUE(write_file(bench.scratch() / "cdi/fake.yaml",
                         "cdiVersion: 0.5.0\nkind: test.cloche/gpu\n"
                         "containerEdits:\n  env: [FAKE=yes]\n"
                         "  deviceNodes: [{path: /dev/fakectl, hostPath: /dev/null}]\n"
                         "  mounts: [{hostPath: " +
                             library_of_host() +
                             ", containerPath: /usr/lib/fake/libm.so.9}]\n"
                             "  hooks: [{hookName: createContainer, path: /bin/false}]\n"
                             "devices:\n"
                             "- {name: '0', containerEdits: {deviceNodes: [{path: /dev/fake0, hostPath: " +
                             nodes +
                             "fake0}]}}\n"
                             "- {name: '1', containerEdits: {deviceNodes: [{path: /dev/sub/fake1, hostPath: " +
                             nodes + "fake1}]}}\n",
                         0644));
}

class Gpus : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_RUNTIME(GetParam());
    make_up_gpus(bench_);
    const UniqueFd fuse(::open((bench_.scratch() / "nodes/fake0").c_str(), O_RDONLY | O_CLOEXEC));
    if (!fuse) CLOCHE_CANNOT_TEST("fuse", "its device cannot be opened on this host");
    backend_ = bench_.backend();
    one_.runtime = GetParam();
    one_.gpus.count = 1;
  }
  void TearDown() override {
    for (auto& sandbox : sandboxes_) bench_.destroy(*sandbox);
    EXPECT_EQ(bench_.leftovers(), "");
  }

  Enclosure& make(const SandboxSpec& spec) {
    sandboxes_.push_back(bench_.make(*backend_, spec));
    if (sandboxes_.back() == nullptr) {
      sandboxes_.pop_back();
      throw std::runtime_error("no sandbox");
    }
    return *sandboxes_.back();
  }
  ErrorCode refusal(const SandboxSpec& spec) {
    const auto made = bench_.try_make(*backend_, spec, Deadline::after(20s));
    EXPECT_FALSE(made);
    return made ? ErrorCode::internal : made.error().code;
  }
  Status check_reset(Enclosure& sandbox) {
    return bench_.run<Status>([&]() -> Task<Status> { return sandbox.check_reset(); });
  }

  Workbench bench_;
  std::unique_ptr<Backend> backend_;
  SandboxSpec one_;
  std::vector<std::unique_ptr<Enclosure>> sandboxes_;
};

TEST_P(Gpus, DeviceThatIsLent_CanBeOpenedByPrograms) {
  auto& sandbox = make(one_);
  EXPECT_EQ(bench_.ask(sandbox, "as 1000 open /dev/fake0"), "ok");
  EXPECT_EQ(bench_.ask(sandbox, "as 1000 open /dev/fakectl"), "ok");
  EXPECT_EQ(bench_.ask(sandbox, "as 1000 open /dev/null"), "ok");
  EXPECT_EQ(bench_.ask(sandbox, "as 1000 open /dev/urandom"), "ok");
  EXPECT_THAT(bench_.ask(sandbox, "list /dev"), Not(HasSubstr("sub"))) << "the other GPU";
}

TEST_P(Gpus, NeighbourWithoutGpus_CannotOpenIt) {
  make(one_);
  SandboxSpec none;
  none.runtime = GetParam();
  auto& neighbour = make(none);
  EXPECT_THAT(bench_.ask(neighbour, "as 1000 open /dev/fake0"), StartsWith("error 2 "));
  EXPECT_THAT(bench_.ask(neighbour, "open /dev/fake0"), StartsWith("error 2 "));
  EXPECT_THAT(neighbour.environment(), IsEmpty());
  EXPECT_TRUE(check_reset(neighbour));
}

TEST_P(Gpus, FilesAndVariablesOfTheDriver_AreThere) {
  auto& sandbox = make(one_);
  EXPECT_EQ(bench_.ask(sandbox, "as 1000 open /.cloche/gpu/lib/libm.so.6"), "ok");
  EXPECT_THAT(bench_.ask(sandbox, "as 1000 write /.cloche/gpu/lib/libm.so.6"), StartsWith("error"));
  const auto env = sandbox.environment();
  EXPECT_EQ(env.at("FAKE"), "yes");
  EXPECT_EQ(env.at("LD_LIBRARY_PATH"), "/.cloche/gpu/lib");
}

TEST_P(Gpus, EachIsLentOnce) {
  auto& first = make(one_);
  auto& second = make(one_);
  EXPECT_THAT(bench_.ask(first, "stat /dev/fake0"), StartsWith("2"));
  EXPECT_THAT(bench_.ask(second, "stat /dev/sub/fake1"), StartsWith("2"));
  EXPECT_THAT(bench_.ask(second, "stat /dev/fake0"), StartsWith("error 2 "));
  EXPECT_EQ(refusal(one_), ErrorCode::limit_reached);
  bench_.destroy(first);
  sandboxes_.erase(sandboxes_.begin());
  SandboxSpec by_name = one_;
  by_name.gpus = {.all = false, .count = 0, .ids = {"0"}};
  make(by_name);
  by_name.gpus.ids = {"1"};
  EXPECT_EQ(refusal(by_name), ErrorCode::limit_reached);
  by_name.gpus.ids = {"7"};
  EXPECT_EQ(refusal(by_name), ErrorCode::unsupported);
}

TEST_P(Gpus, ProcessThatKeepsADeviceOpen_IsFoundFromOutside) {
  auto& sandbox = make(one_);
  EXPECT_TRUE(check_reset(sandbox));
  ASSERT_EQ(bench_.ask(sandbox, "hold /dev/fake0"), "ok");
  const Status checked = check_reset(sandbox);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("still has /dev/fake0 open"));
}

TEST_P(Gpus, NextServer_FindsThemAgain) {
  const std::string id = make(one_).id().value;
  sandboxes_.clear();
  backend_ = bench_.backend();
  EXPECT_EQ(refusal([&] {
              SandboxSpec all = one_;
              all.gpus = {.all = true, .count = 0, .ids = {}};
              return all;
            }()),
            ErrorCode::limit_reached);
  sandboxes_ = bench_.recover(*backend_);
  ASSERT_EQ(sandboxes_.size(), 1u);
  EXPECT_EQ(sandboxes_[0]->id().value, id);
  EXPECT_EQ(sandboxes_[0]->spec().gpus, one_.gpus);
  EXPECT_EQ(sandboxes_[0]->environment().at("FAKE"), "yes");
  ASSERT_EQ(bench_.ask(*sandboxes_[0], "hold /dev/fake0"), "ok");
  EXPECT_FALSE(check_reset(*sandboxes_[0]));
}

TEST_P(Gpus, LoanOfASandboxThatIsNot_EndsWithTheNextStart) {
  const gpu::Lending lending(bench_.options().gpu_dir, bench_.instance());
  const HostGpus host(bench_.options().gpu_places, bench_.options().gpu_dir, bench_.instance());
  ASSERT_TRUE(lending.lend(host.find(), {.all = true, .count = 0, .ids = {}}, "s-ghost"));
  EXPECT_EQ(refusal(one_), ErrorCode::limit_reached);
  EXPECT_TRUE(bench_.recover(*backend_).empty());
  make(one_);
}

TEST_P(Gpus, Examination_NamesThem) {
  make(one_);
  const auto findings = bench_.run<std::vector<Finding>>(
      [&]() -> Task<std::vector<Finding>> { return backend_->examine(Deadline::after(60s)); });
  std::vector<std::string> lines;
  for (const Finding& finding : findings) lines.push_back(finding.name + ": " + finding.detail);
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("GPUs: test.cloche/gpu=0 (lent), test.cloche/gpu=1; "),
                                    HasSubstr("not done: "), HasSubstr("hook createContainer /bin/false"))));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Gpus, ::testing::Values("crun", "runc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

TEST(GpusOnGvisor, RuntimeWithoutTheFlag_IsRefusedWithWhatToDo) {
  Workbench bench;
  make_up_gpus(bench);
  OciOptions options = bench.options();
  const std::string fake = bench.scratch() / "fake-runsc";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\n[ \"$1\" = flags ] && echo '-ignore-cgroups -oci-seccomp'\n", 0755));
  options.runtime_paths["runsc"] = fake;
  RuntimeCatalog catalog(options.runtime_paths);
  const auto runtime = catalog.find("runsc", Deadline::after(20s));
  ASSERT_TRUE(runtime) << runtime.error().message;
  const Status checked = check_gpu_support(*runtime);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::unsupported);
  EXPECT_THAT(checked.error().message, AllOf(HasSubstr("-nvproxy"), HasSubstr("runtime: crun")));
}

TEST(GpusOnGvisor, RuntimeWithTheFlag_GetsIt) {
  const ScratchDirectory scratch;
  const std::string fake = scratch / "fake-runsc";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\necho '-ignore-cgroups -oci-seccomp -nvproxy'\n", 0755));
  RuntimeCatalog catalog(std::map<std::string, std::string>{{"runsc", fake}});
  const auto runtime = catalog.find("runsc", Deadline::after(20s));
  ASSERT_TRUE(runtime) << runtime.error().message;
  EXPECT_TRUE(check_gpu_support(*runtime));
  EXPECT_THAT(*runtime->gpu_flags, ::testing::ElementsAre("--nvproxy"));
}

TEST(GpusOnGvisor, SandboxIsRefusedAndLeavesNothing) {
  CLOCHE_NEEDS_RUNTIME("runsc");
  RuntimeCatalog catalog({});
  if (catalog.find("runsc", Deadline::after(20s))->gpu_flags) CLOCHE_CANNOT_TEST("old runsc", "this one has nvproxy");
  Workbench bench;
  make_up_gpus(bench);
  auto backend = bench.backend();
  SandboxSpec spec = spec_with("runsc");
  spec.gpus.count = 1;
  const auto made = bench.try_make(*backend, spec, Deadline::after(30s));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("nvproxy"));
  EXPECT_EQ(bench.leftovers(), "");
}

}  // namespace
}  // namespace cloche::oci
