#include "cloche/async_runner.hpp"
#include "cloche/runner.hpp"
#include "cloche/sandbox_container.hpp"
#include "library/blocking_handles.hpp"
#include "library/blocking_manager.hpp"

namespace cloche {

namespace {

async::CodeRunner make_runner(const async::Manager& manager, const std::string& config) {
  return config.empty() ? async::CodeRunner(manager) : async::CodeRunner(manager, config);
}

}  // namespace

struct CodeRunner::Impl {
  Impl(const Manager& m, const std::string& config)
      : manager(m.impl()), runner(make_runner(manager->manager, config)) {}
  std::shared_ptr<Manager::Impl> manager;  // has the loop
  async::CodeRunner runner;
};

CodeRunner::CodeRunner(const Manager& manager, const std::string& config)
    : impl_(std::make_unique<Impl>(manager, config)) {}
CodeRunner::CodeRunner(CodeRunner&&) noexcept = default;
CodeRunner::~CodeRunner() = default;

Report CodeRunner::run(Submission submission) {
  return impl_->manager->loop.wait_for(
      [this, submission = std::move(submission)]() mutable { return impl_->runner.run(std::move(submission)); });
}

struct OneShot::Impl {
  Impl(const Manager& m, OneShotOptions options) : manager(m.impl()), one_shot(manager->manager, std::move(options)) {}
  std::shared_ptr<Manager::Impl> manager;
  async::OneShot one_shot;
};

OneShot::OneShot(const Manager& manager, OneShotOptions options)
    : impl_(std::make_unique<Impl>(manager, std::move(options))) {}
OneShot::OneShot(OneShot&&) noexcept = default;
OneShot::~OneShot() = default;

OneShotResult OneShot::run(OneShotRequest request) {
  return impl_->manager->loop.wait_for(
      [this, request = std::move(request)]() mutable { return impl_->one_shot.run(std::move(request)); });
}

OneShotResult OneShot::run_code(OneShotCode code) {
  return impl_->manager->loop.wait_for(
      [this, code = std::move(code)]() mutable { return impl_->one_shot.run_code(std::move(code)); });
}

struct SandboxContainer::Impl {
  Impl(const Sandbox::Impl& sandbox, const ContainerOptions& options)
      : owner(sandbox.owner), loop(*sandbox.loop), container(*sandbox.sandbox, options) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // It may be the last to hold on to a sandbox that was given back, which then ends on the loop's thread.
  ~Impl() {
    loop.wait_for([this]() -> async::Task<> {
      const async::SandboxContainer last = std::move(container);
      co_return;
    });
  }

  template <class Call>
  auto wait_for(Call call) {
    return loop.wait_for([this, call = std::move(call)]() mutable { return call(container); });
  }

  std::shared_ptr<void> owner;  // has the loop
  LoopThread& loop;
  async::SandboxContainer container;
};

SandboxContainer::SandboxContainer(Sandbox& sandbox, const ContainerOptions& options)
    : impl_(std::make_unique<Impl>(*sandbox.impl(), options)) {}
SandboxContainer::SandboxContainer(SandboxContainer&&) noexcept = default;
SandboxContainer::~SandboxContainer() = default;

void SandboxContainer::prepare_workdir(FileTree files) {
  impl_->wait_for([files = std::move(files)](auto& there) mutable { return there.prepare_workdir(std::move(files)); });
}

void SandboxContainer::inject_assets(std::vector<Asset> assets) {
  impl_->wait_for([assets = std::move(assets)](auto& there) mutable { return there.inject_assets(std::move(assets)); });
}

CommandResponse SandboxContainer::run_command(std::string command, CommandOptions options) {
  return impl_->wait_for([command = std::move(command), options = std::move(options)](auto& there) mutable {
    return there.run_command(std::move(command), std::move(options));
  });
}

CommandResponse SandboxContainer::run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                               CommandOptions options) {
  return impl_->wait_for(
      [lines = std::move(lines), program = std::move(program), options = std::move(options)](auto& there) mutable {
        return there.run_commands(std::move(lines), std::move(program), std::move(options));
      });
}

ExtractedFile SandboxContainer::extract_file(std::string path, Bytes most) {
  return impl_->wait_for(
      [path = std::move(path), most](auto& there) mutable { return there.extract_file(std::move(path), most); });
}

AppResponse SandboxContainer::make_request(AppRequest request) {
  return impl_->wait_for(
      [request = std::move(request)](auto& there) mutable { return there.make_request(std::move(request)); });
}

}  // namespace cloche
