#include "library/managed_sandbox.hpp"

#include "core/bytes.hpp"
#include "host/host_copy.hpp"
#include "library/async_handles.hpp"
#include "library/throwing.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche {

namespace {

std::string in_seconds(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return std::to_string(time.count() / 1000) + " seconds";
  return std::to_string(time.count()) + " ms";
}

ShellResult to_shell_result(CommandResult ran) {
  ShellResult result;
  result.truncated = ran.truncated();
  result.out = std::move(ran.out);
  result.err = std::move(ran.err);
  result.exit_code = ran.exit_code;
  result.reason = std::move(ran.reason);
  result.fresh = ran.fresh;
  return result;
}

ShellContextOptions shell_options(const PrivateNetwork* network) {
  ShellContextOptions options;
  if (network != nullptr) options.env = network->variables();
  return options;
}

}  // namespace

SandboxSpec to_spec(const SandboxSettings& settings, BackendKind backend, std::vector<Mount> volumes) {
  SandboxSpec spec;
  spec.egress = settings.network_enabled;
  const bool hosts_own = !traits_of(backend).needs_image && settings.image == SandboxSettings::default_image;
  if (!hosts_own) spec.image = settings.image;
  spec.runtime = settings.runtime;
  spec.work_dir = settings.work_dir;
  auto memory = parse_bytes(settings.memory_limit);
  if (!memory) throw SandboxArgumentError("memory_limit: " + memory.error().message);
  spec.limits.memory = *memory;
  spec.limits.cpus = settings.cpu_limit;
  spec.limits.pids = 128;
  spec.limits.file_size = mib(64);
  spec.limits.work_dir = mib(256);
  spec.mounts = std::move(volumes);
  return spec;
}

// Work that must not be interrupted by the sandbox's end.
class ManagedSandbox::Operation {
 public:
  explicit Operation(ManagedSandbox& sandbox) : sandbox_(sandbox) {
    if (sandbox_.ending_) throw SandboxLostError("the sandbox was deleted");
    ++sandbox_.operations_;
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() {
    --sandbox_.operations_;
    sandbox_.last_used_ = Deadline::Clock::now();
    sandbox_.changed_.notify();
  }

 private:
  ManagedSandbox& sandbox_;
};

ManagedSandbox::ManagedSandbox(Executor executor, async::Sandbox sandbox, std::unique_ptr<PrivateNetwork> network,
                               std::chrono::milliseconds timeout)
    : sandbox_(std::move(sandbox)),
      live_(sandbox_.impl()->share()),
      network_(std::move(network)),
      shell_(executor, *live_, shell_options(network_.get())),
      timeout_(timeout),
      changed_(executor) {}

FilePath ManagedSandbox::place(std::string path) const { return sandbox_.impl()->place(std::move(path)); }

async::Task<ShellResult> ManagedSandbox::run_command(std::string command,
                                                     std::optional<std::chrono::milliseconds> timeout) {
  const Operation operation(*this);
  CommandRequest request;
  request.command = std::move(command);
  request.wall_limit = timeout.value_or(timeout_);
  const auto limit = request.wall_limit;
  OutputSink no_sink;
  auto ran = co_await shell_.run(std::move(request), std::move(no_sink));
  auto ended = value_or_throw(std::move(ran));
  const bool timed_out = ended.ending == ContextEnding::timeout;
  ShellResult result = to_shell_result(std::move(ended));
  if (timed_out) {
    throw CommandTimeoutError("Command execution timed out after " + in_seconds(limit), std::move(result));
  }
  co_return result;
}

async::Task<std::string> ManagedSandbox::read_file(std::string path, Bytes most) {
  const Operation operation(*this);
  std::string bytes = co_await sandbox_.read_file(std::move(path), most);
  co_return bytes;
}

async::Task<> ManagedSandbox::write_file(std::string path, std::string content) {
  const Operation operation(*this);
  co_await sandbox_.write_file(std::move(path), std::move(content));
}

async::Task<CopyReport> ManagedSandbox::copy_to(asio::thread_pool& threads, std::string host_path, std::string path) {
  const Operation operation(*this);
  HostCopy copy(*live_, threads, [this](std::string name) { return place(std::move(name)); });
  auto copied = co_await copy.into_sandbox(std::move(host_path), std::move(path));
  co_return value_or_throw(std::move(copied));
}

async::Task<CopyReport> ManagedSandbox::copy_from(asio::thread_pool& threads, std::string path, std::string host_path,
                                                  Bytes most) {
  const Operation operation(*this);
  HostCopy copy(*live_, threads, [this](std::string name) { return place(std::move(name)); });
  auto copied = co_await copy.out_of_sandbox(std::move(path), std::move(host_path), most);
  co_return value_or_throw(std::move(copied));
}

async::Task<> ManagedSandbox::end() {
  if (std::exchange(ending_, true)) {
    while (!gone_) co_await changed_.wait();
    co_return;
  }
  // In every case the waiting callers are notified.
  struct Gone {
    ManagedSandbox& sandbox;
    ~Gone() {
      sandbox.gone_ = true;
      sandbox.changed_.notify();
    }
  };
  const Gone gone{*this};
  while (operations_ > 0) co_await changed_.wait();
  co_await shell_.close();
  if (network_) co_await network_->close();
  co_await sandbox_.destroy();
}

}  // namespace cloche
