#include "runner/runner.hpp"

#include <unistd.h>

#include <filesystem>

namespace cloche {

ManagerOptions RunnerOn::options(std::uint32_t size, std::uint32_t limit) const {
  Profile profile;
  profile.name = "box";
  profile.sandbox = testing_support::spec_for(target());
  profile.sandbox.work_dir = "/app";
  // The image has no compilers. It is of the same Debian, so the host's /usr fits it.
  if (target().backend == "docker") {
    for (const char* place : {"/usr", "/etc/alternatives", "/etc/java-17-openjdk", "/etc/php"}) {
      if (std::filesystem::exists(place)) profile.sandbox.mounts.push_back({place, place, Access::read_only});
    }
  }
  profile.pool.pool_size = size;
  profile.pool.scale_limit = limit;
  profile.pool.wait_timeout = 60s;
  profile.pool.reset_timeout = 20s;  // a machine under test is slow
  ManagerOptions options;
  options.profiles.push_back(std::move(profile));
  for (const char* name : {"python", "bash", "cpp", "java", "node", "ruby", "php", "go", "rust", "csharp"})
    options.aliases[name] = "box";
  options.drain_timeout = 10s;
  return options;
}

void RunnerOn::in_manager(ManagerOptions options, std::function<Task<>(pool::Manager&)> body) {
  run([&]() -> Task<> {
    auto journal = pool::Journal::open_in_memory();
    EXPECT_TRUE(journal) << journal.error().message;
    if (!journal) co_return;
    auto made = pool::Manager::create(io_.get_executor(), *backend_, std::move(*journal), options,
                                      pool::Tenancy::of_trusted_callers());
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    const auto manager = std::move(*made);
    auto started = co_await manager->start(Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    std::exception_ptr thrown;
    try {
      if (started) co_await body(*manager);
    } catch (...) {
      thrown = std::current_exception();
    }
    for (const auto& [name, stats] : manager->stats()) EXPECT_EQ(stats.active, 0u) << "still lent";
    auto ended = co_await manager->shut_down();
    EXPECT_TRUE(ended) << ended.error().message;
    if (thrown) std::rethrow_exception(thrown);
  });
}

void RunnerOn::in_runner(ManagerOptions options, std::function<Task<>(runner::CodeRunner&)> body) {
  in_manager(std::move(options), [&](pool::Manager& manager) -> Task<> {
    auto languages = LanguageRegistry::create();
    EXPECT_TRUE(languages) << languages.error().message;
    runner::CodeRunner runner(io_.get_executor(), manager, std::move(*languages));
    co_await body(runner);
  });
}

Report RunnerOn::judge(Submission submission) { return judge(std::move(submission), options()); }

Report RunnerOn::judge(Submission submission, ManagerOptions options) {
  Report report;
  report.category = Category::system_error;
  in_runner(std::move(options), [&](runner::CodeRunner& runner) -> Task<> {
    auto judged = co_await runner.run(submission, Deadline::after(150s));
    EXPECT_TRUE(judged) << judged.error().message;
    if (judged) report = std::move(*judged);
  });
  return report;
}

bool RunnerOn::has(const std::string& program) const {
  const std::string path = program.starts_with('/') ? program : "/usr/bin/" + program;
  return ::access(path.c_str(), F_OK) == 0;
}

bool RunnerOn::lacks(const std::string& program) {
  if (has(program)) return false;
  [&] { CLOCHE_CANNOT_TEST(program, "the sandbox's root has no " + program); }();
  return true;
}

TestCase expecting(std::string input, std::string expected) {
  TestCase test;
  test.input = std::move(input);
  test.expected = std::move(expected);
  return test;
}

Submission in_language(std::string language, std::string source) {
  Submission submission;
  submission.program.language = std::move(language);
  submission.program.source = std::move(source);
  return submission;
}

Submission python(std::string source) { return in_language("python", std::move(source)); }

std::string said(const Report& report) {
  std::string text(to_string(report.category));
  return report.cause == Cause::none ? text : text + "/" + std::string(to_string(report.cause));
}

std::string said(const CaseReport& report) {
  std::string text(to_string(report.category));
  return report.cause == Cause::none ? text : text + "/" + std::string(to_string(report.cause));
}

INSTANTIATE_TEST_SUITE_P(Backends, RunnerOn,
                         testing::Values(Target{"fake", ""}, Target{"oci", "crun"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
