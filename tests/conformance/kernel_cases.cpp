// Which kernel a sandbox has is found out in the sandbox. The name of its runtime says nothing. The private engine of
// the tests has runtimes whose names and paths disagree with what they are; see scripts/engine.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

bool is_absent(const Error& error) { return error.message.find("the engine has no runtime") != std::string::npos; }

}  // namespace

CONFORMANCE(Kernel_IsWhatTheAgentFinds) {
  if (fake_has_no("kernel of another kind")) return;
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    EXPECT_EQ(sandbox.kernel(), target().is_gvisor()       ? Kernel::own
                                : target().is_kubernetes() ? Kernel::elsewhere
                                                           : Kernel::shared);
    co_return;
  });
}

CONFORMANCE(GvisorUnderAnotherName_LimitsProcessesInside) {
  if (target().backend != "docker" || !target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("runtimes of an engine have names");
  std::optional<std::string> absent;
  run([&]() -> Task<> {
    SandboxSpec wanted = spec();
    wanted.runtime = "sandboxed";
    wanted.limits.pids = 77;
    auto made = co_await create(std::move(wanted));
    if (!made && is_absent(made.error())) {
      absent = made.error().message;
      co_return;
    }
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    EXPECT_EQ((*made)->kernel(), Kernel::own);
    EXPECT_EQ((*made)->runtime(), "sandboxed");
    const auto ran = co_await run_python(**made, "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))");
    EXPECT_EQ(ran.out, "(77, 77)\n") << ran.err;
    auto destroyed = co_await (*made)->destroy(Deadline::after(60s));
    EXPECT_TRUE(destroyed);
  });
  if (absent) CLOCHE_CANNOT_TEST("runtime sandboxed", *absent);
}

CONFORMANCE(RuntimeWithAnotherKernelThanItsPathSays_IsRefused) {
  if (target().backend != "docker" || !target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("runtimes of an engine have names");
  std::optional<std::string> absent;
  const std::pair<const char*, const char*> cases[] = {{"sandboxed-hidden", "runs them on gVisor"},
                                                       {"unsandboxed", "runs them on Linux"}};
  run([&]() -> Task<> {
    for (const auto& [runtime, words] : cases) {
      SandboxSpec wanted = spec();
      wanted.runtime = runtime;
      auto made = co_await create(std::move(wanted));
      EXPECT_FALSE(made) << runtime;
      if (made) {
        co_await (*made)->destroy(Deadline::after(60s));
        continue;
      }
      if (is_absent(made.error())) {
        absent = made.error().message;
        co_return;
      }
      EXPECT_EQ(made.error().code, ErrorCode::unsupported);
      EXPECT_THAT(made.error().message, HasSubstr(runtime));
      EXPECT_THAT(made.error().message, HasSubstr(words));
      auto left = co_await backend().recover(Deadline::after(60s));
      EXPECT_TRUE(left && left->empty()) << "the sandbox must be removed";
    }
  });
  if (absent) CLOCHE_CANNOT_TEST("runtimes of a private engine", *absent);
}

}  // namespace cloche
