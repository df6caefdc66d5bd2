#include "cloche/async_runner.hpp"

#include "config/config.hpp"
#include "library/async_manager.hpp"
#include "library/throwing.hpp"
#include "runner/autograder/container.hpp"
#include "runner/autograder/one_shot.hpp"
#include "runner/code_runner.hpp"

namespace cloche::async {

namespace {

const LanguageRegistry& shipped_languages() {
  static const LanguageRegistry shipped = value_or_throw(LanguageRegistry::create());
  return shipped;
}

LanguageRegistry languages_of(const std::string& config) {
  auto read = value_or_throw(config::read_config(config, config::process_environment()));
  return value_or_throw(LanguageRegistry::create(read.languages));
}

pool::Binding binding_of(const Sandbox::Impl& sandbox) {
  if (sandbox.lease) return sandbox.lease->binding();
  pool::Binding binding;
  binding.work_dir = sandbox.get().spec().work_dir;
  return binding;
}

std::optional<Language> language_of(const ContainerOptions& options) {
  if (options.language.empty()) return std::nullopt;
  return value_or_throw(shipped_languages().find(options.language));
}

}  // namespace

struct CodeRunner::Impl {
  Impl(const Manager& m, LanguageRegistry languages)
      : manager(m.impl()), runner(manager->engine->executor, *manager->pools, std::move(languages)) {}
  std::shared_ptr<Manager::Impl> manager;
  runner::CodeRunner runner;
};

CodeRunner::CodeRunner(const Manager& manager) : impl_(std::make_shared<Impl>(manager, shipped_languages())) {}
CodeRunner::CodeRunner(const Manager& manager, const std::string& config)
    : impl_(std::make_shared<Impl>(manager, languages_of(config))) {}
CodeRunner::CodeRunner(CodeRunner&&) noexcept = default;
CodeRunner::~CodeRunner() = default;

Task<Report> CodeRunner::run(Submission submission) {
  const auto impl = impl_;
  auto report = co_await impl->runner.run(std::move(submission));
  co_return value_or_throw(std::move(report));
}

struct OneShot::Impl {
  Impl(const Manager& m, OneShotOptions options)
      : manager(m.impl()),
        one_shot(*manager->engine->made, manager->pools.get(), shipped_languages(), std::move(options)) {}
  std::shared_ptr<Manager::Impl> manager;
  runner::OneShot one_shot;
};

OneShot::OneShot(const Manager& manager) : OneShot(manager, OneShotOptions()) {}
OneShot::OneShot(const Manager& manager, OneShotOptions options)
    : impl_(std::make_shared<Impl>(manager, std::move(options))) {}
OneShot::OneShot(OneShot&&) noexcept = default;
OneShot::~OneShot() = default;

Task<OneShotResult> OneShot::run(OneShotRequest request) {
  const auto impl = impl_;
  auto result = co_await impl->one_shot.run(std::move(request));
  co_return value_or_throw(std::move(result));
}

Task<OneShotResult> OneShot::run_code(OneShotCode code) {
  const auto impl = impl_;
  auto result = co_await impl->one_shot.run_code(std::move(code));
  co_return value_or_throw(std::move(result));
}

struct SandboxContainer::Impl {
  Impl(const Sandbox::Impl& sandbox, const ContainerOptions& options)
      : container(sandbox.share(), binding_of(sandbox), shipped_languages(), language_of(options), options.port),
        held(sandbox.held) {}

  // A pool may have leased it to another caller by now.
  runner::Container& get() {
    if (held.expired()) throw SandboxLostError("the sandbox of the container was released or destroyed");
    return container;
  }

  runner::Container container;
  std::weak_ptr<const char> held;
};

SandboxContainer::SandboxContainer(Sandbox& sandbox) : SandboxContainer(sandbox, ContainerOptions()) {}
SandboxContainer::SandboxContainer(Sandbox& sandbox, const ContainerOptions& options)
    : impl_(std::make_unique<Impl>(*sandbox.impl(), options)) {}
SandboxContainer::SandboxContainer(SandboxContainer&&) noexcept = default;
SandboxContainer::~SandboxContainer() = default;

Task<> SandboxContainer::prepare_workdir(FileTree files) {
  auto prepared = co_await impl_->get().prepare_workdir(std::move(files));
  value_or_throw(std::move(prepared));
}

Task<> SandboxContainer::inject_assets(std::vector<Asset> assets) {
  auto injected = co_await impl_->get().inject_assets(std::move(assets));
  value_or_throw(std::move(injected));
}

Task<CommandResponse> SandboxContainer::run_command(std::string command, CommandOptions options) {
  auto ran = co_await impl_->get().run_command(std::move(command), std::move(options));
  co_return value_or_throw(std::move(ran));
}

Task<CommandResponse> SandboxContainer::run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                                     CommandOptions options) {
  auto ran = co_await impl_->get().run_commands(std::move(lines), std::move(program), std::move(options));
  co_return value_or_throw(std::move(ran));
}

Task<ExtractedFile> SandboxContainer::extract_file(std::string path, Bytes most) {
  auto file = co_await impl_->get().extract_file(std::move(path), most);
  co_return value_or_throw(std::move(file));
}

Task<AppResponse> SandboxContainer::make_request(AppRequest request) {
  auto response = co_await impl_->get().make_request(std::move(request));
  co_return value_or_throw(std::move(response));
}

}  // namespace cloche::async
