#include "library/async_engine.hpp"

#include "core/async/guarded.hpp"
#include "core/log.hpp"
#include "host/backends.hpp"
#include "library/async_handles.hpp"
#include "library/quiet_log.hpp"
#include "library/throwing.hpp"

namespace cloche::async {

namespace {

constexpr std::chrono::seconds destroy_timeout{30};
constexpr std::chrono::seconds recover_timeout{60};
constexpr std::chrono::seconds examine_timeout{60};
// Making a sandbox, an image's pull not counted in.
constexpr std::chrono::minutes create_timeout{10};

Status validate_instance(const std::string& name) {
  for (const unsigned char c : name) {
    if (!std::isalnum(c) && c != '-') {
      return fail(ErrorCode::invalid_argument, "an instance id must be letters, digits and '-': '" + name + "'");
    }
  }
  if (name.size() > 40) return fail(ErrorCode::invalid_argument, "an instance id must have at most 40 characters");
  return {};
}

Task<Status> remove_leftovers_of(Backend& backend) {
  auto left = co_await backend.recover(Deadline::after(recover_timeout));
  if (!left) co_return fail(std::move(left).error());
  for (auto& enclosure : *left) {
    auto destroyed = co_await enclosure->destroy(Deadline::after(destroy_timeout));
    if (!destroyed) co_return destroyed;
  }
  co_return Status{};
}

}  // namespace

Engine::Impl::Impl(boost::asio::any_io_executor e, EngineOptions o, const ManagerOptions& limits)
    : executor(e), options(std::move(o)), threads(blocking_threads(limits)), tasks(e) {
  keep_log_off_stdout();
  value_or_throw(validate_instance(options.instance));
  if (options.instance.empty()) {
    ephemeral = value_or_throw(EphemeralInstance::claim(options));
  } else {
    dir = value_or_throw(InstanceDir::claim(options));
  }
  made = value_or_throw(make_backend(executor, threads, options, ephemeral ? ephemeral->id() : dir->id()));
}

Task<Backend*> Engine::Impl::backend() {
  if (dir) dir->will_make();
  if (!swept) {
    swept = true;
    co_await sweep();
  }
  co_return made.get();
}

Task<> Engine::Impl::sweep() {
  for (OwnerLock& abandoned : find_abandoned_ephemeral(options)) {
    EngineOptions places = options;
    places.run_dir = abandoned.entry().run_dir;
    InstanceId owner;
    owner.value = abandoned.entry().id;
    auto theirs = make_backend(executor, threads, places, owner);
    if (!theirs) continue;
    auto removed = co_await remove_leftovers_of(**theirs);
    if (removed) {
      abandoned.release();
    } else {
      log::warn("leftovers of {}: {}", owner.value, removed.error().message);
    }
  }
}

void Engine::Impl::end(std::shared_ptr<LiveSandbox> sandbox) {
  tasks.spawn("end sandbox", [ephemeral = ephemeral, sandbox]() -> Task<> {
    auto work = [&sandbox] { return sandbox->destroy(Deadline::after(destroy_timeout)); };
    auto destroyed = co_await attempted("end sandbox " + sandbox->id().value, std::move(work));
    if (destroyed) co_return;
    log::error("sandbox {}: {}", sandbox->id().value, destroyed.error().message);
    if (ephemeral) ephemeral->leave_to_the_next();
  });
}

Engine::Engine(boost::asio::any_io_executor executor, EngineOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options))) {}
Engine::Engine(Engine&&) noexcept = default;
Engine::~Engine() = default;

Task<Sandbox> Engine::create(SandboxSpec spec) {
  const auto impl = impl_;
  Backend* backend = co_await impl->backend();
  auto enclosure = co_await backend->create(std::move(spec), Deadline::after(create_timeout));
  auto walls = value_or_throw(std::move(enclosure));
  auto opened = co_await LiveSandbox::open(std::move(walls), Greeting::fresh, Deadline::never());
  co_return wrap(impl, value_or_throw(std::move(opened)));
}

Task<Sandbox> Engine::create() { return create(SandboxSpec()); }

Task<std::vector<Sandbox>> Engine::recover() {
  const auto impl = impl_;
  Backend* backend = co_await impl->backend();
  auto found = co_await backend->recover(Deadline::after(recover_timeout));
  auto enclosures = value_or_throw(std::move(found));
  std::vector<Sandbox> sandboxes;
  for (auto& enclosure : enclosures) {
    auto opened = co_await LiveSandbox::open(std::move(enclosure), Greeting::takeover, Deadline::never());
    if (opened) {
      sandboxes.push_back(wrap(impl, std::move(*opened)));
    } else {
      log::warn("recover: {}", opened.error().message);  // and it was destroyed
    }
  }
  co_return sandboxes;
}

Task<std::vector<HostFinding>> Engine::examine() {
  const auto impl = impl_;
  const auto findings = co_await impl->made->examine(Deadline::after(examine_timeout));
  std::vector<HostFinding> all;
  for (const Finding& finding : findings) {
    HostFinding entry;
    entry.backend = impl->made->name();
    entry.name = finding.name;
    entry.level = static_cast<HostFinding::Level>(finding.level);
    entry.detail = finding.detail;
    entry.advice = finding.advice;
    all.push_back(std::move(entry));
  }
  co_return all;
}

Task<> Engine::close() {
  const auto impl = impl_;
  co_await impl->tasks.join();
}

}  // namespace cloche::async
