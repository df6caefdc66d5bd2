#include "conformance/conformance.hpp"

#include "conformance/not_on_e2b.hpp"
#include "conformance/not_on_kubernetes.hpp"
#include "sandbox/limits.hpp"
#include "support/with_sandbox.hpp"

namespace cloche {

void Conformance::SetUp() {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string case_name = name.substr(0, name.rfind('/'));
  auto exception = target().is_e2b() ? why_not_on_e2b(case_name) : std::nullopt;
  if (target().is_kubernetes()) exception = why_not_on_kubernetes(case_name, target().runtime);
  if (exception) CLOCHE_DOES_NOT_APPLY(*exception);
  OnBackend::SetUp();
}

Task<Result<std::unique_ptr<LiveSandbox>>> Conformance::create(SandboxSpec spec) {
  return testing_support::create_sandbox(*backend_, std::move(spec));
}

Task<> Conformance::with_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body) {
  // Its template has more than any case asks for. Cases that are about these limits are in the table.
  if (target().is_e2b()) spec.limits = limits_of_image(spec.limits);
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

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(testing_support::all_targets_and_services()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
