#include "cloche/sandbox_manager.hpp"

#include <map>

#include "core/async/task_group.hpp"
#include "core/log.hpp"
#include "library/async_handles.hpp"
#include "library/loop_thread.hpp"
#include "library/managed_sandbox.hpp"

namespace cloche {

namespace {

void check(const SandboxManagerOptions& options) {
  if (options.max_sandboxes == 0) throw SandboxArgumentError("max_sandboxes must be at least 1");
  if (options.idle_timeout.count() <= 0) throw SandboxArgumentError("idle_timeout must be greater than 0");
  if (options.cleanup_interval.count() <= 0) throw SandboxArgumentError("cleanup_interval must be greater than 0");
}

}  // namespace

struct SandboxManager::Impl {
  explicit Impl(SandboxManagerOptions o)
      : options(std::move(o)), engine(loop.io().get_executor(), options.engine), tasks(loop.io().get_executor()) {}
  ~Impl() {
    loop.wait_for([this]() -> async::Task<> {
      co_await tasks.shut_down();
      sandboxes.clear();
      co_await engine.close();
    });
  }

  // What is called on the loop's own thread, and does not wait.
  template <class Call>
  auto on_loop(Call call) {
    using R = std::invoke_result_t<Call&>;
    return loop.wait_for([call = std::move(call)]() mutable -> async::Task<R> { co_return call(); });
  }

  async::Task<std::string> create(SandboxSettings settings, std::vector<Mount> volumes);
  std::shared_ptr<ManagedSandbox> find(const std::string& id) const;
  std::vector<std::string> ids() const;
  async::Task<> remove(std::string id);
  async::Task<> remove_all();
  async::Task<> look_for_idle_ones();
  void end_idle_ones();
  SandboxManagerStats stats() const;

  SandboxManagerOptions options;
  asio::thread_pool threads{1};  // for the host's files
  LoopThread loop;
  async::Engine engine;
  std::map<std::string, std::shared_ptr<ManagedSandbox>> sandboxes;
  std::uint32_t being_made = 0;
  bool closed = false;
  TaskGroup tasks;
};

struct ShellSandbox::Impl {
  std::shared_ptr<SandboxManager::Impl> manager;  // has the loop
  std::shared_ptr<ManagedSandbox> sandbox;
  std::string id;

  Impl(std::shared_ptr<SandboxManager::Impl> of, std::shared_ptr<ManagedSandbox> held, std::string name)
      : manager(std::move(of)), sandbox(std::move(held)), id(std::move(name)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    // What belongs on the loop's thread ends there.
    manager->on_loop([last = std::move(sandbox)]() mutable {
      last.reset();
      return true;
    });
  }

  template <class Call>
  auto wait_for(Call call) {
    return manager->loop.wait_for([this, call = std::move(call)]() { return call(*sandbox); });
  }
};

async::Task<std::string> SandboxManager::Impl::create(SandboxSettings settings, std::vector<Mount> volumes) {
  if (closed) throw SandboxUnavailableError("the manager was cleaned up and cannot create sandboxes");
  if (sandboxes.size() + being_made >= options.max_sandboxes) {
    throw SandboxResourceError("Maximum number of sandboxes (" + std::to_string(options.max_sandboxes) + ") reached");
  }
  SandboxSpec spec = to_spec(settings, options.engine.backend, std::move(volumes));
  struct Place {
    std::uint32_t& taken;
    explicit Place(std::uint32_t& count) : taken(count) { ++taken; }
    ~Place() { --taken; }
  };
  const Place place(being_made);
  async::Sandbox made = co_await engine.create(std::move(spec));
  if (closed) {
    co_await made.destroy();
    throw SandboxUnavailableError("the manager was cleaned up while the sandbox was being created");
  }
  std::unique_ptr<PrivateNetwork> network;
  if (settings.network_enabled) {
    NetworkPolicy internet;
    internet.mode = Network::internet;
    network = co_await PrivateNetwork::open(loop.io().get_executor(), made.impl()->share(), std::move(internet));
  }
  auto managed =
      std::make_shared<ManagedSandbox>(loop.io().get_executor(), std::move(made), std::move(network), settings.timeout);
  std::string id = managed->id();
  sandboxes.emplace(id, std::move(managed));
  co_return id;
}

std::shared_ptr<ManagedSandbox> SandboxManager::Impl::find(const std::string& id) const {
  const auto found = sandboxes.find(id);
  if (found == sandboxes.end()) throw SandboxNotFoundError("Sandbox " + id + " not found");
  return found->second;
}

// Of all that are there now; they may go while one looks.
std::vector<std::string> SandboxManager::Impl::ids() const {
  std::vector<std::string> all;
  all.reserve(sandboxes.size());
  for (const auto& [id, sandbox] : sandboxes) all.push_back(id);
  return all;
}

async::Task<> SandboxManager::Impl::remove(std::string id) {
  const auto sandbox = find(id);
  co_await sandbox->end();
  sandboxes.erase(id);
}

async::Task<> SandboxManager::Impl::remove_all() {
  closed = true;
  TaskGroup removals(loop.io().get_executor());
  std::string failure;
  for (const std::string& id : ids()) {
    removals.spawn("delete sandbox", [this, id, &failure]() -> async::Task<> {
      if (!sandboxes.contains(id)) co_return;  // another caller was faster
      try {
        co_await remove(id);
      } catch (const std::exception& error) {
        failure = "sandbox " + id + ": " + error.what();
      }
    });
  }
  co_await removals.join();
  if (!failure.empty()) throw SandboxError(failure);
}

async::Task<> SandboxManager::Impl::look_for_idle_ones() {
  for (;;) {
    co_await pause_for(options.cleanup_interval);
    end_idle_ones();
  }
}

void SandboxManager::Impl::end_idle_ones() {
  const auto since = Deadline::Clock::now() - options.idle_timeout;
  for (const std::string& id : ids()) {
    if (!sandboxes.at(id)->is_idle_since(since)) continue;
    log::info("sandbox {} was idle for too long and will be deleted", id);
    tasks.spawn("delete idle sandbox", [this, id] { return remove(id); });
  }
}

SandboxManagerStats SandboxManager::Impl::stats() const {
  SandboxManagerStats stats;
  stats.total_sandboxes = static_cast<std::uint32_t>(sandboxes.size()) + being_made;
  stats.max_sandboxes = options.max_sandboxes;
  for (const auto& [id, sandbox] : sandboxes) stats.active_operations += sandbox->operations();
  stats.idle_timeout = options.idle_timeout;
  stats.cleanup_interval = options.cleanup_interval;
  stats.is_shutting_down = closed;
  return stats;
}

SandboxManager::SandboxManager(SandboxManagerOptions options) {
  check(options);
  impl_ = std::make_shared<Impl>(std::move(options));
  impl_->on_loop([impl = impl_.get()] {
    impl->tasks.spawn("look for idle sandboxes", [impl] { return impl->look_for_idle_ones(); });
    return true;
  });
}
SandboxManager::SandboxManager(SandboxManager&&) noexcept = default;
SandboxManager::~SandboxManager() {
  if (!impl_) return;
  try {
    cleanup();
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
}

std::string SandboxManager::create_sandbox(SandboxSettings settings, std::vector<Mount> volumes) {
  return impl_->loop.wait_for([&] { return impl_->create(std::move(settings), std::move(volumes)); });
}

ShellSandbox SandboxManager::get_sandbox(const std::string& id) {
  auto found = impl_->on_loop([&] { return impl_->find(id); });
  return ShellSandbox(std::make_shared<ShellSandbox::Impl>(impl_, std::move(found), id));
}

void SandboxManager::delete_sandbox(const std::string& id) {
  impl_->loop.wait_for([&] { return impl_->remove(id); });
}

void SandboxManager::cleanup() {
  impl_->loop.wait_for([&] { return impl_->remove_all(); });
}

SandboxManagerStats SandboxManager::get_stats() const {
  return impl_->on_loop([this] { return impl_->stats(); });
}

const std::string& ShellSandbox::id() const { return impl_->id; }

ShellResult ShellSandbox::run_command(const std::string& command, std::optional<std::chrono::milliseconds> timeout) {
  return impl_->wait_for([&](ManagedSandbox& sandbox) { return sandbox.run_command(command, timeout); });
}
std::string ShellSandbox::read_file(const std::string& path, Bytes most) {
  return impl_->wait_for([&](ManagedSandbox& sandbox) { return sandbox.read_file(path, most); });
}
void ShellSandbox::write_file(const std::string& path, std::string content) {
  impl_->wait_for([&](ManagedSandbox& sandbox) { return sandbox.write_file(path, std::move(content)); });
}
CopyReport ShellSandbox::copy_to(const std::string& host_path, const std::string& path) {
  return impl_->wait_for(
      [&](ManagedSandbox& sandbox) { return sandbox.copy_to(impl_->manager->threads, host_path, path); });
}
CopyReport ShellSandbox::copy_from(const std::string& path, const std::string& host_path, Bytes most) {
  return impl_->wait_for(
      [&](ManagedSandbox& sandbox) { return sandbox.copy_from(impl_->manager->threads, path, host_path, most); });
}

}  // namespace cloche
