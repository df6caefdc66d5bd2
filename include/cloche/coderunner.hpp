/// @file
/// The quiz's sandboxed code runner over Cloche, for plain blocking code: the names, defaults and messages of its C#
/// records, spelled as in C++. It is a view of OneShot (cloche/runner.hpp), which new programs use as it is.
///
///     cloche::Manager manager({.engine = options});
///     cloche::coderunner::CodeRunnerFactory factory(manager);
///     auto runner = factory.create("Python");
///     auto result = runner.run_code("print(input())", {.input = {"hello"}});
///     // result.success, result.output == "hello"
///
/// How a program ended is a result; an exception means that there is none. A language without a sandbox is refused, and
/// never run outside of one.
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

/// One program, run once.
struct SandboxRequest {
  std::string docker_image;            ///< on oci the default image of Python stands for the host's own /usr
  std::string command;                 ///< found in the sandbox's PATH; `python` is `python3` where there is no other
  std::vector<std::string> arguments;  ///< behind the command, an argument each
  std::string code_file_path;          ///< on the host; the sandbox has a copy of the same name
  std::string container_work_dir;      ///< where that copy is and the program starts
  std::vector<std::string> input;      ///< lines of stdin, newlines between them
  std::int64_t timeout_seconds = 10;   ///< until the program is ended
  std::int64_t memory_limit_bytes = 128L * 1024 * 1024;  ///< the sandbox has 256 MiB more, for the runtime around it
  std::int64_t cpu_quota = 50'000;                       ///< microseconds in 100 ms: 50000 is half a core
};

/// How the program ended: the output of a success, the error of a failure; the other is unset.
struct SandboxResult {
  bool success = false;               ///< exit code 0
  std::optional<std::string> output;  ///< stdout, trimmed
  std::optional<std::string> error;   ///< stderr, trimmed, or stdout when there is none; or `Execution timed out`
  bool timed_out = false;             ///< it ran longer than it may
};

/// The same for a caller who gave nothing but code.
struct CodeRunnerResult {
  bool success = false;               ///< exit code 0
  std::optional<std::string> output;  ///< of a success
  std::optional<std::string> error;   ///< of a failure
};

/// What a result is to have, and what the program reads.
struct CodeRunnerOptions {
  bool contain_output = true;      ///< off: the result has no output
  bool contain_error = true;       ///< off: the result has no error
  std::vector<std::string> input;  ///< lines of stdin, newlines between them
};

/// There is no result at all.
class CLOCHE_API CodeRunnerException : public std::runtime_error {
 public:
  /// With these words.
  explicit CodeRunnerException(const std::string& message = "Failed to run code") : std::runtime_error(message) {}
};

/// A language that the configuration has no sandbox for.
class CLOCHE_API UnsupportedLanguageException : public CodeRunnerException {
 public:
  /// `The programming language 'x' is not currently supported.`
  explicit UnsupportedLanguageException(const std::string& language)
      : CodeRunnerException("The programming language '" + language + "' is not currently supported.") {}
};

/// How source becomes a program. In the arguments {filename} stands for the code's file.
struct CLOCHE_API LanguageSandboxConfig {
  std::string docker_image;                                     ///< as SandboxRequest::docker_image
  std::string command;                                          ///< as SandboxRequest::command
  std::string file_extension;                                   ///< with its dot
  std::vector<std::string> argument_template = {"{filename}"};  ///< an argument each
  std::optional<std::string> code_prefix = std::nullopt;        ///< put in front of the source

  /// The arguments for a file of that name.
  std::vector<std::string> get_arguments(const std::string& filename) const;
  /// The source as it is run.
  std::string prepare_code(const std::string& code) const;
};

/// The two languages that it ships: `CSharp` and `Python`.
CLOCHE_API std::map<std::string, LanguageSandboxConfig> default_language_configs();

/// All that a runner is made with.
struct SandboxConfiguration {
  /// Where code is written before it runs. Made if it is not there; must be a directory of this user's alone.
  std::string temp_code_path = "/tmp/code";
  std::int64_t timeout_seconds = 10;                     ///< as SandboxRequest::timeout_seconds
  std::int64_t memory_limit_bytes = 128L * 1024 * 1024;  ///< as SandboxRequest::memory_limit_bytes
  /// By name; names match whatever their case.
  std::map<std::string, LanguageSandboxConfig> language_configs = default_language_configs();
};

/// Makes a sandbox, runs one program in it, and removes it. The manager must not be shut down meanwhile; it needs no
/// pools. Calls may come from any thread, several at once.
class CLOCHE_API DockerSandbox {
 public:
  /// The manager's engine makes the sandboxes, whatever its backend.
  explicit DockerSandbox(const Manager& manager, OneShotOptions options = {});

  /// Throws SandboxError when there is no sandbox to be had, or CodeRunnerException when the code cannot be read.
  SandboxResult execute(const SandboxRequest& request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Code to result, in one language.
class CLOCHE_API SandboxedCodeRunner {
 public:
  /// UnsupportedLanguageException where the configuration has no sandbox for it.
  SandboxedCodeRunner(DockerSandbox sandbox, const SandboxConfiguration& configuration, const std::string& language);

  /// As the configuration spells it.
  const std::string& language() const { return language_; }
  /// Writes the code to a file of its own below temp_code_path, runs it, and removes the file.
  CodeRunnerResult run_code(const std::string& code, const CodeRunnerOptions& options = {});

 private:
  DockerSandbox sandbox_;
  SandboxConfiguration configuration_;
  std::string language_;
  LanguageSandboxConfig config_;
};

/// Makes runners by language.
class CLOCHE_API CodeRunnerFactory {
 public:
  /// Runners share the manager's engine.
  explicit CodeRunnerFactory(const Manager& manager, SandboxConfiguration configuration = {},
                             OneShotOptions options = {});

  /// UnsupportedLanguageException where the configuration has no sandbox for it.
  SandboxedCodeRunner create(const std::string& language) const;

 private:
  DockerSandbox sandbox_;
  SandboxConfiguration configuration_;
};

}  // namespace cloche::coderunner
