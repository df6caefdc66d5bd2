// Bad input gets a clear error, promptly, and leaves nothing behind (the fixture's end sees to that).
#include "conformance/conformance.hpp"

namespace cloche {

CONFORMANCE(UnknownImage_IsNotFoundByName) {
  run([this]() -> Task<> {
    auto bad = spec();
    bad.image = target().backend == "docker" || target().is_kubernetes() ? "no-such/image:nowhere" : "/no/such/image";
    auto made = co_await create(bad);
    EXPECT_FALSE(made);
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::not_found) << made.error().message;
      EXPECT_THAT(made.error().message, HasSubstr(bad.image));
    }
  });
}

CONFORMANCE(AbsentRuntime_IsUnsupportedByName) {
  if (fake_has_no("choice of runtimes")) return;
  run([this]() -> Task<> {
    auto bad = spec();
    bad.runtime = "norun";
    auto made = co_await create(bad);
    EXPECT_FALSE(made);
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::unsupported) << made.error().message;
      EXPECT_THAT(made.error().message, HasSubstr("norun"));
    }
  });
}

CONFORMANCE(AbsurdSpec_IsRefused) {
  run([this]() -> Task<> {
    auto none = spec();
    none.limits.memory = {0};
    auto much = spec();
    much.limits.cpus = 1e9;
    auto outside = spec();
    outside.work_dir = "/workspace/../etc";
    auto nul = spec();
    nul.work_dir = std::string("/work\0space", 11);
    auto root = spec();
    root.uid = 0;
    auto absent = spec();
    absent.mounts.push_back({"/no/such/source", "/data", Access::read_only});
    const SandboxSpec* const specs[] = {&none, &much, &outside, &nul, &root, &absent};
    for (const SandboxSpec* bad : specs) {
      if (bad == &absent && target().is_fake()) continue;
      if (bad == &none && target().is_e2b()) continue;  // none is what its specs have
      SandboxSpec copy = *bad;
      auto made = co_await create(std::move(copy));
      EXPECT_FALSE(made);
      if (made) (void)co_await (*made)->destroy(Deadline::after(30s));
    }
  });
}

CONFORMANCE(AbsurdExec_IsRefusedAndTheSandboxGoesOn) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec empty;
    ExecSpec nul = ExecSpec::shell(std::string("a\0b", 3));
    ExecSpec root = ExecSpec::shell("id");
    root.uid = 0;
    ExecSpec relative = ExecSpec::shell("pwd");
    relative.cwd = "../etc";
    ExecSpec variable = ExecSpec::shell("env");
    variable.env["A=B"] = "c";
    ExecSpec huge = ExecSpec::shell("true");
    huge.argv.push_back(std::string(8 << 20, 'x'));
    const ExecSpec* const specs[] = {&empty, &nul, &root, &relative, &variable, &huge};
    for (const ExecSpec* bad : specs) {
      ExecSpec copy = *bad;
      auto ran = co_await sandbox.run(std::move(copy), Deadline::after(30s));
      EXPECT_FALSE(ran);
      if (!ran) {
        EXPECT_EQ(ran.error().code, ErrorCode::invalid_argument) << ran.error().message;
      }
    }
    auto unknown = co_await sandbox.attach(4711, LiveSandbox::AfterEnd::keep);
    const auto event = co_await (*unknown)->next(Deadline::after(30s));
    EXPECT_EQ(event.error().code, ErrorCode::not_found);
    const auto ran = co_await run_shell(sandbox, "echo on");
    EXPECT_EQ(ran.out, "on\n");
  });
}

CONFORMANCE(ArgumentTooLongForTheKernel_IsRefusedByItsNumber) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("true");
    spec.argv.push_back(std::string(1 << 20, 'x'));
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_FALSE(started);
    if (!started) {
      EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(started.error().message.find("argument 3"), std::string::npos) << started.error().message;
    }
  });
}

CONFORMANCE(DestroyedWhileAProgramRuns_EndsTheExecAtOnce) {
  run([this]() -> Task<> {
    auto made = co_await create(spec());
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    const auto sandbox = std::move(*made);
    auto started = co_await sandbox->start(ExecSpec::shell("sleep 1000"));
    auto destroyed = co_await sandbox->destroy(Deadline::after(60s));
    EXPECT_TRUE(destroyed) << destroyed.error().message;
    const auto end = co_await (*started)->collect(Deadline::after(30s));
    EXPECT_FALSE(end);
    auto again = co_await sandbox->destroy(Deadline::after(60s));
    EXPECT_TRUE(again) << "destroying twice is fine";
    auto late = co_await sandbox->start(ExecSpec::shell("true"));
    EXPECT_FALSE(late);
  });
}

class SilentAgent : public Conformance {};

TEST_P(SilentAgent, NeverReady_IsATimeoutAndTheSandboxIsGone) {
  auto made =
      testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_, CLOCHE_TEST_SILENT);
  ASSERT_TRUE(made) << made.error().message;
  backend_ = std::move(*made);
  run([this]() -> Task<> {
    auto quick = spec();
    quick.ready_timeout = 1500ms;
    auto opened = co_await create(quick);
    EXPECT_FALSE(opened);
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::timeout) << opened.error().message;
    }
    auto left = co_await backend().recover(Deadline::after(30s));
    EXPECT_TRUE(left && left->empty());
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SilentAgent, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
