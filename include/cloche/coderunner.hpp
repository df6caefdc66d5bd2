/// @file
/// The quiz's sandboxed code runner on top of Cloche, for blocking code. It has the names, defaults and messages of the
/// original C# records, in C++ spelling. It is a view of OneShot (cloche/runner.hpp); new programs should use OneShot
/// directly.
///
///     cloche::Manager manager({.engine = options});
///     cloche::coderunner::CodeRunnerFactory factory(manager);
///     auto runner = factory.create("Python");
///     auto result = runner.run_code("print(input())", {.input = {"hello"}});
///     // result.success, result.output == "hello"
///
/// How a program ended is a result; an exception means that there is no result. A language without a sandbox is refused
/// and never runs outside of a sandbox.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cloche/runner.hpp"
#include "cloche/visibility.hpp"

namespace cloche::coderunner {

/// One program to run once.
struct SandboxRequest {
  std::string docker_image;  ///< The image. On oci, the default image of Python means the host's own /usr.
  std::string command;  ///< The program, found in the sandbox's PATH. `python` means `python3` if there is no `python`.
  std::vector<std::string> arguments;  ///< The arguments after the command.
  std::string code_file_path;          ///< The code file on the host. The sandbox gets a copy with the same name.
  std::string container_work_dir;      ///< The directory of that copy, in which the program starts.
  std::vector<std::string> input;      ///< The lines of stdin, separated by newlines.
  std::int64_t timeout_seconds = 10;   ///< The time limit.
  /// The memory limit of the program. The sandbox gets 256 MiB more, for the runtime.
  std::int64_t memory_limit_bytes = 128L * 1024 * 1024;
  std::int64_t cpu_quota = 50'000;  ///< CPU time in microseconds per 100 ms: 50000 is half a core.
};

/// How the program ended: the output of a success or the error of a failure. The other one is unset.
struct SandboxResult {
  bool success = false;               ///< True if the exit code was 0.
  std::optional<std::string> output;  ///< Trimmed stdout.
  std::optional<std::string> error;   ///< Trimmed stderr, or stdout if stderr is empty, or `Execution timed out`.
  bool timed_out = false;             ///< True if the program exceeded its time limit.
};

/// The result for a caller that only passed code.
struct CodeRunnerResult {
  bool success = false;               ///< True if the exit code was 0.
  std::optional<std::string> output;  ///< The output of a success.
  std::optional<std::string> error;   ///< The error of a failure.
};

/// What the result contains, and what the program reads.
struct CodeRunnerOptions {
  bool contain_output = true;      ///< False: the result has no output.
  bool contain_error = true;       ///< False: the result has no error.
  std::vector<std::string> input;  ///< The lines of stdin, separated by newlines.
};

/// Thrown when there is no result.
class CLOCHE_API CodeRunnerException : public std::runtime_error {
 public:
  /// Creates an exception with this message.
  explicit CodeRunnerException(const std::string& message = "Failed to run code") : std::runtime_error(message) {}
};

/// Thrown for a language that the configuration has no sandbox for.
class CLOCHE_API UnsupportedLanguageException : public CodeRunnerException {
 public:
  /// The message is `The programming language 'x' is not currently supported.`
  explicit UnsupportedLanguageException(const std::string& language)
      : CodeRunnerException("The programming language '" + language + "' is not currently supported.") {}
};

/// How source code becomes a program. In the arguments, {filename} is replaced by the name of the code file.
struct CLOCHE_API LanguageSandboxConfig {
  std::string docker_image;                                     ///< See SandboxRequest::docker_image.
  std::string command;                                          ///< See SandboxRequest::command.
  std::string file_extension;                                   ///< The file name extension, including its dot.
  std::vector<std::string> argument_template = {"{filename}"};  ///< The arguments, each with placeholders.
  std::optional<std::string> code_prefix = std::nullopt;        ///< Text that is inserted before the source.

  /// Returns the arguments for a file name.
  std::vector<std::string> get_arguments(const std::string& filename) const;
  /// Returns the source with the prefix.
  std::string prepare_code(const std::string& code) const;
};

/// The two built-in languages, `CSharp` and `Python`.
CLOCHE_API std::map<std::string, LanguageSandboxConfig> default_language_configs();

/// The configuration of runners.
struct SandboxConfiguration {
  /// The directory for code files. It is created if necessary and must belong to this user only.
  std::string temp_code_path = "/tmp/code";
  std::int64_t timeout_seconds = 10;                     ///< See SandboxRequest::timeout_seconds.
  std::int64_t memory_limit_bytes = 128L * 1024 * 1024;  ///< See SandboxRequest::memory_limit_bytes.
  /// The languages by name. Names are case-insensitive.
  std::map<std::string, LanguageSandboxConfig> language_configs = default_language_configs();
};

/// Creates a sandbox, runs one program in it, and removes it. The manager must not be shut down while calls run; it
/// needs no pools. Calls may come from several threads at once.
class CLOCHE_API DockerSandbox {
 public:
  /// Uses the engine of the manager, with any backend.
  explicit DockerSandbox(const Manager& manager, OneShotOptions options = {});

  /// Throws SandboxError if no sandbox is available, or CodeRunnerException if the code cannot be read.
  SandboxResult execute(const SandboxRequest& request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Runs code in one language.
class CLOCHE_API SandboxedCodeRunner {
 public:
  /// Throws UnsupportedLanguageException if the configuration has no sandbox for the language.
  SandboxedCodeRunner(DockerSandbox sandbox, const SandboxConfiguration& configuration, const std::string& language);

  /// Returns the name of the language as the configuration spells it.
  const std::string& language() const { return language_; }
  /// Writes the code to a new file below temp_code_path, runs it, and removes the file.
  CodeRunnerResult run_code(const std::string& code, const CodeRunnerOptions& options = {});

 private:
  DockerSandbox sandbox_;
  SandboxConfiguration configuration_;
  std::string language_;
  LanguageSandboxConfig config_;
};

/// Creates runners by language.
class CLOCHE_API CodeRunnerFactory {
 public:
  /// All runners share the engine of the manager.
  explicit CodeRunnerFactory(const Manager& manager, SandboxConfiguration configuration = {},
                             OneShotOptions options = {});

  /// Throws UnsupportedLanguageException if the configuration has no sandbox for the language.
  SandboxedCodeRunner create(const std::string& language) const;

 private:
  DockerSandbox sandbox_;
  SandboxConfiguration configuration_;
};

}  // namespace cloche::coderunner
