// The quiz's code runner by its own names: what each field means, on real sandboxes.
#include "cloche/coderunner.hpp"

#include <sys/stat.h>

#include <fstream>
#include <future>

#include "library/library.hpp"

namespace cloche::coderunner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CodeRunnerTypes, Defaults_AreThoseThatUsersWerePromised) {
  const SandboxRequest request;
  EXPECT_EQ(request.timeout_seconds, 10);
  EXPECT_EQ(request.memory_limit_bytes, 128 * 1024 * 1024);
  EXPECT_EQ(request.cpu_quota, 50000);
  EXPECT_THAT(request.input, IsEmpty());

  const SandboxConfiguration configuration;
  EXPECT_EQ(configuration.temp_code_path, "/tmp/code");
  EXPECT_EQ(configuration.timeout_seconds, 10);
  EXPECT_EQ(configuration.memory_limit_bytes, 128 * 1024 * 1024);
  const LanguageSandboxConfig& csharp = configuration.language_configs.at("CSharp");
  EXPECT_EQ(csharp.docker_image, "mcr.microsoft.com/dotnet/sdk:10.0");
  EXPECT_EQ(csharp.command, "dotnet");
  EXPECT_EQ(csharp.file_extension, ".cs");
  EXPECT_THAT(csharp.get_arguments("a.cs"), ElementsAre("run", "/sandbox/a.cs"));
  EXPECT_EQ(csharp.prepare_code("code"), "#pragma warning disable\ncode");
  const LanguageSandboxConfig& python = configuration.language_configs.at("Python");
  EXPECT_EQ(python.docker_image, "python:3.12-slim");
  EXPECT_EQ(python.command, "python");
  EXPECT_EQ(python.file_extension, ".py");
  EXPECT_THAT(python.get_arguments("a.py"), ElementsAre("/sandbox/a.py"));
  EXPECT_EQ(python.prepare_code("code"), "code");
  EXPECT_THAT(LanguageSandboxConfig().get_arguments("x"), ElementsAre("x"));
}

TEST(CodeRunnerTypes, FilenameInATemplate_IsPutInWhereverItStands) {
  LanguageSandboxConfig config;
  config.argument_template = {"{filename}-{filename}", "plain", "{file}"};
  EXPECT_THAT(config.get_arguments("{filename}"), ElementsAre("{filename}-{filename}", "plain", "{file}"));
  EXPECT_THAT(config.get_arguments("a"), ElementsAre("a-a", "plain", "{file}"));
}

TEST(CodeRunnerTypes, Exceptions_SayWhatTheOriginalsSay) {
  EXPECT_STREQ(CodeRunnerException().what(), "Failed to run code");
  EXPECT_STREQ(UnsupportedLanguageException("x").what(), "The programming language 'x' is not currently supported.");
}

class CodeRunnerSandbox : public Library {
 protected:
  ManagerOptions no_pools() const {
    ManagerOptions made;
    made.engine = options();
    return made;
  }
  static OneShotOptions crun() {
    OneShotOptions made;
    made.runtime = "crun";
    return made;
  }
  // A request that runs `code`, a file of this test's own, with the sandbox's shell.
  SandboxRequest request(const std::string& code) const {
    const std::string path = (scratch_.path() / "code.sh").string();
    std::ofstream(path) << code;
    SandboxRequest made;
    made.docker_image = "python:3.12-slim";
    made.command = "sh";
    made.arguments = {"code.sh"};
    made.code_file_path = path;
    made.container_work_dir = "/sandbox";
    return made;
  }
  static SandboxRequest python(SandboxRequest of) {
    of.command = "python";
    return of;
  }
  SandboxConfiguration configuration() const {
    SandboxConfiguration made;
    made.temp_code_path = (scratch_.path() / "code").string();
    return made;
  }
  std::vector<std::string> temporary_files() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(scratch_.path() / "code")) names.push_back(each.path());
    return names;
  }
};

TEST_F(CodeRunnerSandbox, CommandArgumentsAndWorkDirectory_AreTakenByTheLetter) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made = request("printf '[%s]' \"$@\"; pwd; ls; id -u");
  made.arguments = {"/work/code.sh", "a b", "$HOME", "*", ""};
  made.container_work_dir = "/work";
  const SandboxResult result = sandbox.execute(made);
  EXPECT_TRUE(result.success) << result.error.value_or("");
  EXPECT_EQ(result.output, "[a b][$HOME][*][]/work\ncode.sh\n1000");
  EXPECT_EQ(result.error, std::nullopt);
  EXPECT_FALSE(result.timed_out);
}

TEST_F(CodeRunnerSandbox, Input_IsItsLinesWithNewlinesBetween) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made = request("od -An -c");
  made.input = {"a", "", "\\n b"};
  EXPECT_EQ(sandbox.execute(made).output, "a  \\n  \\n   \\   n       b");
  made.input = {};
  EXPECT_EQ(sandbox.execute(made).output, "");
}

TEST_F(CodeRunnerSandbox, Failure_HasStderrOrElseStdoutAndNoOutput) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  const SandboxResult told = sandbox.execute(request("echo out; echo ' why ' >&2; exit 3"));
  EXPECT_FALSE(told.success);
  EXPECT_EQ(told.output, std::nullopt);
  EXPECT_EQ(told.error, "why");
  EXPECT_EQ(sandbox.execute(request("echo out; exit 3")).error, "out");
}

TEST_F(CodeRunnerSandbox, Timeout_EndsTheProgramAndSaysSo) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made = request("echo begun; sleep 1000");
  made.timeout_seconds = 1;
  const SandboxResult result = sandbox.execute(made);
  EXPECT_FALSE(result.success);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.error, "Execution timed out");
  made.timeout_seconds = 0;
  EXPECT_THROW(sandbox.execute(made), SandboxArgumentError);
  made.timeout_seconds = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(sandbox.execute(made), SandboxArgumentError);
}

TEST_F(CodeRunnerSandbox, Memory_IsTheLimitAndTheBufferOverIt) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made = python(request("x = b'x' * (200 << 20); print('fits')"));
  made.memory_limit_bytes = 1 << 20;
  EXPECT_EQ(sandbox.execute(made).output, "fits");
  made = python(request("x = b'x' * (400 << 20); print('fits')"));
  made.memory_limit_bytes = 1 << 20;
  const SandboxResult killed = sandbox.execute(made);
  EXPECT_FALSE(killed.success);
  EXPECT_THAT(killed.error.value_or(""), HasSubstr("memory"));
  made.memory_limit_bytes = -1;
  EXPECT_THROW(sandbox.execute(made), SandboxArgumentError);
}

TEST_F(CodeRunnerSandbox, CpuQuota_IsMicrosecondsOfATenthOfASecond) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made =
      python(request("import time\nbegun = time.time()\n"
                     "while time.process_time() < 0.4: pass\n"
                     "print('slowed' if time.time() - begun > 1 else time.time() - begun)"));
  made.timeout_seconds = 60;
  made.cpu_quota = 20'000;
  EXPECT_EQ(sandbox.execute(made).output, "slowed");
  made.cpu_quota = 0;
  EXPECT_THROW(sandbox.execute(made), SandboxArgumentError);
}

TEST_F(CodeRunnerSandbox, CodeThatCannotBeReadOrImageThatIsNotThere_IsAnException) {
  Manager manager(no_pools());
  DockerSandbox sandbox(manager, crun());
  SandboxRequest made = request("true");
  made.docker_image = "/no/such/image";
  EXPECT_THROW(sandbox.execute(made), SandboxError);
  made = request("true");
  made.code_file_path = (scratch_.path() / "none").string();
  EXPECT_THROW(sandbox.execute(made), CodeRunnerException);
  const std::string pipe = (scratch_.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  made.code_file_path = pipe;
  EXPECT_THROW(sandbox.execute(made), CodeRunnerException);
}

TEST_F(CodeRunnerSandbox, Runner_FindsItsLanguageWhateverTheCaseAndLeavesNoFile) {
  Manager manager(no_pools());
  CodeRunnerFactory factory(manager, configuration(), crun());
  SandboxedCodeRunner runner = factory.create("pYTHON");
  EXPECT_EQ(runner.language(), "Python");
  CodeRunnerOptions said;
  said.input = {"hello", "you"};
  const CodeRunnerResult result = runner.run_code("print(input(), input())\nimport sys; print(sys.argv[0][:9])", said);
  EXPECT_TRUE(result.success) << result.error.value_or("");
  EXPECT_EQ(result.output, "hello you\n/sandbox/");
  EXPECT_EQ(result.error, std::nullopt);
  const CodeRunnerResult raised = runner.run_code("import os; raise ValueError(os.environ['PYTHONUNBUFFERED'])");
  EXPECT_FALSE(raised.success);
  EXPECT_THAT(raised.error.value_or(""), HasSubstr("ValueError: 1"));
  EXPECT_THAT(temporary_files(), IsEmpty());
  EXPECT_THROW(factory.create("Cobol"), UnsupportedLanguageException);
  EXPECT_THROW(factory.create(""), UnsupportedLanguageException);
}

TEST_F(CodeRunnerSandbox, WhatIsNotWanted_IsNotInTheResult) {
  Manager manager(no_pools());
  SandboxedCodeRunner runner = CodeRunnerFactory(manager, configuration(), crun()).create("Python");
  CodeRunnerOptions nothing;
  nothing.contain_output = false;
  nothing.contain_error = false;
  const CodeRunnerResult fine = runner.run_code("print('out')", nothing);
  EXPECT_TRUE(fine.success);
  EXPECT_EQ(fine.output, std::nullopt);
  EXPECT_EQ(runner.run_code("exit(1)", nothing).error, std::nullopt);
}

TEST_F(CodeRunnerSandbox, LanguageOfTheCallersOwn_HasItsCommandPrefixAndExtension) {
  Manager manager(no_pools());
  SandboxConfiguration own = configuration();
  LanguageSandboxConfig shell;
  shell.docker_image = "python:3.12-slim";
  shell.command = "sh";
  shell.file_extension = ".sh";
  shell.argument_template = {"-e", "{filename}"};
  shell.code_prefix = "x=7\n";
  own.language_configs = {{"Shell", shell}};
  own.timeout_seconds = 2;
  SandboxedCodeRunner runner = CodeRunnerFactory(manager, own, crun()).create("shell");
  EXPECT_EQ(runner.run_code("echo $x; expr \"$0\" : '.*\\(\\.sh\\)'").output, "7\n.sh");
  EXPECT_EQ(runner.run_code("sleep 1000").error, "Execution timed out");
}

TEST_F(CodeRunnerSandbox, FolderThatOthersMayWriteTo_IsRefused) {
  Manager manager(no_pools());
  SandboxedCodeRunner runner = CodeRunnerFactory(manager, configuration(), crun()).create("Python");
  std::filesystem::create_directory(scratch_.path() / "code");
  ASSERT_EQ(::chmod((scratch_.path() / "code").c_str(), 0777), 0);
  EXPECT_THROW(runner.run_code("print(1)"), CodeRunnerException);
  EXPECT_THAT(temporary_files(), IsEmpty());
  std::filesystem::remove(scratch_.path() / "code");
  std::filesystem::create_directory_symlink("/tmp", scratch_.path() / "code");
  EXPECT_THROW(runner.run_code("print(1)"), CodeRunnerException);
}

TEST_F(CodeRunnerSandbox, ManyAtOnce_ReadTheirOwnInput) {
  Manager manager(no_pools());
  SandboxedCodeRunner runner = CodeRunnerFactory(manager, configuration(), crun()).create("Python");
  std::vector<std::future<CodeRunnerResult>> running;
  for (int i = 0; i < 6; ++i) {
    CodeRunnerOptions own;
    own.input = {std::to_string(i)};
    running.push_back(
        std::async(std::launch::async, [&runner, own] { return runner.run_code("print(input())", own); }));
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(running[i].get().output, std::to_string(i));
  EXPECT_THAT(temporary_files(), IsEmpty());
}

}  // namespace
}  // namespace cloche::coderunner
