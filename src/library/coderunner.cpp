#include "cloche/coderunner.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cloche/sandbox_manager.hpp"
#include "core/text.hpp"
#include "library/async_engine.hpp"
#include "library/async_manager.hpp"
#include "library/blocking_manager.hpp"
#include "library/code_file.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::coderunner {

namespace {

constexpr const char* work_dir = "/sandbox";
constexpr std::string_view filename_mark = "{filename}";
// The additional memory that the original grants for the runtime around a program.
constexpr Bytes memory_buffer = mib(256);
constexpr double cpu_period = 100'000;
constexpr std::int64_t most_seconds = std::int64_t{7} * 24 * 3600;

// The image has `python`; Debian has `python3` alone.
constexpr const char* any_python =
    R"(if command -v python >/dev/null 2>&1; then exec python "$@"; fi; exec python3 "$@")";

void check(const SandboxRequest& request) {
  if (request.timeout_seconds < 1 || request.timeout_seconds > most_seconds) {
    throw SandboxArgumentError("timeout_seconds must be from 1 to " + std::to_string(most_seconds));
  }
  if (request.memory_limit_bytes < 1) throw SandboxArgumentError("memory_limit_bytes must be greater than 0");
  if (request.cpu_quota < 1) throw SandboxArgumentError("cpu_quota must be greater than 0");
}

OneShotRequest to_one_shot(const SandboxRequest& request, BackendKind backend) {
  OneShotRequest made;
  const bool stands_for_host =
      !traits_of(backend).needs_image && request.docker_image == SandboxSettings::default_image;
  if (!stands_for_host) made.image = request.docker_image;
  made.command = request.command;
  made.arguments = request.arguments;
  if (request.command == "python") {
    made.command = "sh";
    made.arguments.insert(made.arguments.begin(), {"-c", any_python, "python"});
  }
  made.code_file = std::filesystem::path(request.code_file_path).filename();
  made.code = read_code(request.code_file_path);
  made.work_dir = request.container_work_dir;
  made.input = request.input;
  made.timeout = std::chrono::seconds(request.timeout_seconds);
  made.memory = Bytes{static_cast<std::uint64_t>(request.memory_limit_bytes) + memory_buffer.count};
  made.cpus = static_cast<double>(request.cpu_quota) / cpu_period;
  made.env["PYTHONUNBUFFERED"] = "1";
  return made;
}

SandboxResult to_result(OneShotResult ran) {
  SandboxResult result;
  result.success = ran.success;
  result.timed_out = ran.timed_out;
  (ran.success ? result.output : result.error) = std::move(ran.success ? ran.output : ran.error);
  return result;
}

}  // namespace

std::vector<std::string> LanguageSandboxConfig::get_arguments(const std::string& filename) const {
  std::vector<std::string> arguments = argument_template;
  for (std::string& argument : arguments) {
    for (auto at = argument.find(filename_mark); at != std::string::npos;
         at = argument.find(filename_mark, at + filename.size())) {
      argument.replace(at, filename_mark.size(), filename);
    }
  }
  return arguments;
}

std::string LanguageSandboxConfig::prepare_code(const std::string& code) const {
  return code_prefix.value_or("") + code;
}

std::map<std::string, LanguageSandboxConfig> default_language_configs() {
  LanguageSandboxConfig csharp;
  csharp.docker_image = "mcr.microsoft.com/dotnet/sdk:10.0";
  csharp.command = "dotnet";
  csharp.file_extension = ".cs";
  csharp.argument_template = {"run", "/sandbox/{filename}"};
  csharp.code_prefix = "#pragma warning disable\n";
  LanguageSandboxConfig python;
  python.docker_image = SandboxSettings::default_image;
  python.command = "python";
  python.file_extension = ".py";
  python.argument_template = {"/sandbox/{filename}"};
  return {{"CSharp", std::move(csharp)}, {"Python", std::move(python)}};
}

struct DockerSandbox::Impl {
  Impl(const Manager& manager, OneShotOptions options)
      : one_shot(manager, std::move(options)), backend(manager.impl()->manager.impl()->engine->options.backend) {}

  OneShot one_shot;
  BackendKind backend;
};

DockerSandbox::DockerSandbox(const Manager& manager, OneShotOptions options)
    : impl_(std::make_shared<Impl>(manager, std::move(options))) {}

SandboxResult DockerSandbox::execute(const SandboxRequest& request) {
  check(request);
  return to_result(impl_->one_shot.run(to_one_shot(request, impl_->backend)));
}

SandboxedCodeRunner::SandboxedCodeRunner(DockerSandbox sandbox, const SandboxConfiguration& configuration,
                                         const std::string& language)
    : sandbox_(std::move(sandbox)), configuration_(configuration) {
  const auto named = [&](const auto& each) { return same_word(each.first, language); };
  const auto found = std::ranges::find_if(configuration_.language_configs, named);
  if (found == configuration_.language_configs.end()) throw UnsupportedLanguageException(language);
  language_ = found->first;
  config_ = found->second;
}

CodeRunnerResult SandboxedCodeRunner::run_code(const std::string& code, const CodeRunnerOptions& options) {
  const CodeFile file(configuration_.temp_code_path, config_.file_extension, config_.prepare_code(code));
  SandboxRequest request;
  request.docker_image = config_.docker_image;
  request.command = config_.command;
  request.arguments = config_.get_arguments(file.name());
  request.code_file_path = file.path();
  request.container_work_dir = work_dir;
  request.input = options.input;
  request.timeout_seconds = configuration_.timeout_seconds;
  request.memory_limit_bytes = configuration_.memory_limit_bytes;
  SandboxResult ran = sandbox_.execute(request);
  CodeRunnerResult result;
  result.success = ran.success;
  if (options.contain_output) result.output = std::move(ran.output);
  if (options.contain_error) result.error = std::move(ran.error);
  return result;
}

CodeRunnerFactory::CodeRunnerFactory(const Manager& manager, SandboxConfiguration configuration, OneShotOptions options)
    : sandbox_(manager, std::move(options)), configuration_(std::move(configuration)) {}

SandboxedCodeRunner CodeRunnerFactory::create(const std::string& language) const {
  return SandboxedCodeRunner(sandbox_, configuration_, language);
}

}  // namespace cloche::coderunner
