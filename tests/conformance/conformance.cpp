#include "conformance/conformance.hpp"

#include "core/ids.hpp"
#include "support/with_sandbox.hpp"

namespace cloche {

void Conformance::SetUp() {
  if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  instance_.value = "test-" + random_hex(6);
  auto made = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_);
  ASSERT_TRUE(made) << made.error().message;
  backend_ = std::move(*made);
}

void Conformance::TearDown() {
  // Whatever a failed test left alive of its instance goes now.
  if (!backend_) return;
  run([this]() -> Task<> {
    auto left = co_await backend_->recover(Deadline::after(60s));
    EXPECT_TRUE(left) << left.error().message;
    if (!left) co_return;
    EXPECT_TRUE(left->empty() || HasFailure()) << "a sandbox was left behind";
    for (auto& enclosure : *left) {
      auto destroyed = co_await enclosure->destroy(Deadline::after(30s));
      EXPECT_TRUE(destroyed) << destroyed.error().message;
    }
  });
}

void Conformance::run(std::function<Task<>()> body) {
  std::exception_ptr thrown;
  io_.restart();
  asio::co_spawn(io_, body, [&](std::exception_ptr error) { thrown = error; });
  io_.run();
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "exception: " << error.what();
  }
}

Task<Result<std::unique_ptr<LiveSandbox>>> Conformance::create(SandboxSpec spec) {
  return testing_support::create_sandbox(*backend_, std::move(spec));
}

Task<> Conformance::with_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body) {
  return testing_support::with_sandbox(*backend_, std::move(spec), std::move(body));
}

void Conformance::in_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body) {
  run([&]() -> Task<> { co_await with_sandbox(std::move(spec), std::move(body)); });
}

void Conformance::in_two_sandboxes(SandboxSpec first, SandboxSpec second,
                                   std::function<Task<>(LiveSandbox&, LiveSandbox&)> body) {
  run([&]() -> Task<> {
    std::function<Task<>(LiveSandbox&)> in_first = [&](LiveSandbox& one) -> Task<> {
      std::function<Task<>(LiveSandbox&)> in_second = [&](LiveSandbox& other) { return body(one, other); };
      co_await with_sandbox(std::move(second), std::move(in_second));
    };
    co_await with_sandbox(std::move(first), std::move(in_first));
  });
}

bool Conformance::fake_has_no(const char* what) {
  if (!target().is_fake()) return false;
  [&] { CLOCHE_DOES_NOT_APPLY(std::string("the fake backend has no ") + what); }();
  return true;
}

Task<Exec::Collected> run_program(LiveSandbox& sandbox, ExecSpec spec) {
  auto ran = co_await sandbox.run(std::move(spec), Deadline::after(100s));
  EXPECT_TRUE(ran) << ran.error().message;
  if (!ran) co_return Exec::Collected{};
  co_return std::move(*ran);
}

Task<Exec::Collected> run_argv(LiveSandbox& sandbox, std::vector<std::string> argv) {
  ExecSpec spec;
  spec.argv = std::move(argv);
  auto collected = co_await run_program(sandbox, std::move(spec));
  co_return collected;
}

Task<Exec::Collected> run_shell(LiveSandbox& sandbox, std::string line) {
  ExecSpec spec = ExecSpec::shell(std::move(line));
  auto collected = co_await run_program(sandbox, std::move(spec));
  co_return collected;
}

Task<Exec::Collected> run_python(LiveSandbox& sandbox, std::string code) {
  std::vector<std::string> argv{"python3", "-c", std::move(code)};
  auto collected = co_await run_argv(sandbox, std::move(argv));
  co_return collected;
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(testing_support::all_targets_and_modern_engine()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
