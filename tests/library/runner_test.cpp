// CodeRunner, OneShot and SandboxContainer of the public library, blocking and in coroutines.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "cloche/async_runner.hpp"
#include "cloche/manager.hpp"
#include "cloche/runner.hpp"
#include "cloche/sandbox_container.hpp"
#include "library/library.hpp"

namespace cloche {
namespace {

using testing::HasSubstr;

class LibraryRunner : public Library {
 protected:
  ManagerOptions manager_options() const {
    ManagerOptions manager;
    manager.engine = options();
    Profile profile;
    profile.name = "python";
    profile.sandbox = spec();
    profile.pool.pool_size = 1;
    manager.profiles.push_back(profile);
    manager.aliases["py"] = "python";
    return manager;
  }
};

TEST_F(LibraryRunner, Submission_IsJudged) {
  Manager manager(manager_options());
  CodeRunner runner(manager);
  Submission submission;
  submission.program = {.language = "python", .source = "print(int(input()) * 2)"};
  submission.cases = {{.name = "small", .input = "21\n", .expected = "42"},
                      {.name = "wrong", .input = "1", .expected = "3"}};
  const Report report = runner.run(submission);
  ASSERT_EQ(report.cases.size(), 2u);
  EXPECT_TRUE(report.cases[0].passed());
  EXPECT_EQ(report.cases[1].cause, Cause::wrong_answer);
  EXPECT_FALSE(report.passed());
  submission.program.language = "cobol";
  EXPECT_THROW(runner.run(submission), SandboxError);
}

TEST_F(LibraryRunner, OneShot_RunsCode) {
  Manager manager(manager_options());
  OneShot one_shot(manager);
  const OneShotResult result = one_shot.run_code({.language = "Python", .code = "print(input())", .input = {"said"}});
  EXPECT_TRUE(result.success) << result.error;
  EXPECT_EQ(result.output, "said");
  const OneShotResult made =
      one_shot.run({.command = "sh", .arguments = {"-c", "pwd; cat note"}, .code_file = "note", .code = "n"});
  EXPECT_EQ(made.output, "/sandbox\nn") << made.error;
  EXPECT_THROW(one_shot.run_code({.language = "cobol", .code = ""}), SandboxError);
}

TEST_F(LibraryRunner, Container_RunsCommandsInALease) {
  Manager manager(manager_options());
  auto lease = manager.acquire("python");
  SandboxContainer container(*lease, {.language = "python"});
  container.prepare_workdir({{"calculator.py", "print(int(input()) + int(input()))"}});
  container.inject_assets({{.target = "data.csv", .content = "1,2"}});
  EXPECT_EQ(container.run_commands({"5", "3"}, "python3 calculator.py").out, "8\n");
  EXPECT_EQ(container.run_command("cat /tmp/data.csv").out, "1,2");
  EXPECT_THAT(container.extract_file("calculator.py").content, HasSubstr("input"));
  EXPECT_THROW(container.extract_file("none"), SandboxNotFoundError);
  EXPECT_THROW(container.prepare_workdir({{"../x", ""}}), SandboxArgumentError);
  EXPECT_THROW(container.make_request({.endpoint = "/"}), SandboxNotFoundError);
}

TEST_F(LibraryRunner, Container_WorksWithASandboxOfItsOwn) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  SandboxContainer container(sandbox);
  container.prepare_workdir({{"a/b.txt", "deep"}});
  EXPECT_EQ(container.run_command("cat a/b.txt").out, "deep");
}

TEST_F(LibraryRunner, ContainerOfALeaseGivenBack_ReachesItsSandboxNoMore) {
  Manager manager(manager_options());
  auto lease = manager.acquire("python");
  SandboxContainer container(*lease, {.language = "python"});
  ASSERT_EQ(container.run_command("echo mine").out, "mine\n");
  ASSERT_TRUE(lease.give_back());
  EXPECT_THROW(container.run_command("echo whose"), SandboxLostError);
  EXPECT_THROW(container.prepare_workdir({{"a", "b"}}), SandboxLostError);
}

TEST_F(LibraryRunner, ContainerOfADestroyedSandbox_SaysSoAndGoesLast) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  SandboxContainer container(sandbox);
  sandbox.destroy();
  EXPECT_THROW(container.run_command("echo nobody"), SandboxLostError);
}

TEST_F(LibraryRunner, Coroutines_JudgeManyAtOnce) {
  boost::asio::io_context io{1};
  std::exception_ptr failure;
  int passed = 0;
  boost::asio::co_spawn(
      io,
      [&]() -> async::Task<> {
        async::Manager manager(io.get_executor(), manager_options());
        co_await manager.start();
        async::CodeRunner runner(manager);
        Submission submission;
        submission.program.language = "py";
        submission.program.source = "print('si')";
        for (int i = 0; i < 3; ++i) {
          const Report report = co_await runner.run(submission);
          if (report.passed()) ++passed;
        }
        co_await manager.shutdown();
      },
      [&](std::exception_ptr error) { failure = error; });
  io.run();
  if (failure) std::rethrow_exception(failure);
  EXPECT_EQ(passed, 3);
}

}  // namespace
}  // namespace cloche
