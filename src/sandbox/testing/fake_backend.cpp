#include "sandbox/testing/fake_backend.hpp"

#include <signal.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "core/unique_fd.hpp"
#include "process/child.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche {

namespace {

class PipeChannel final : public Channel {
 public:
  PipeChannel(Executor executor, UniqueFd in, UniqueFd out)
      : in_(executor, in.release()), out_(executor, out.release()) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    boost::system::error_code error;
    const std::size_t n = co_await out_.async_read_some(asio::buffer(into.data(), into.size()),
                                                        asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::eof) co_return std::size_t{0};
    if (error) co_return fail(ErrorCode::sandbox_lost, "channel: " + error.message());
    co_return n;
  }

  Task<Status> write_all(std::string_view bytes) override {
    boost::system::error_code error;
    co_await asio::async_write(in_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return fail(ErrorCode::sandbox_lost, "channel: " + error.message());
    co_return Status{};
  }

  void close() override {
    boost::system::error_code ignored;
    in_.close(ignored);
    out_.close(ignored);
  }

 private:
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
};

// All that descend from a process, by the kernel's lists of its threads' children.
void add_descendants(pid_t pid, std::set<pid_t>& found) {
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) {
      if (found.insert(child).second) add_descendants(child, found);
    }
  }
}

class FakeEnclosure final : public Enclosure {
 public:
  FakeEnclosure(SandboxId id, SandboxSpec spec, process::Child bubblewrap, std::unique_ptr<PipeChannel> channel)
      : id_(std::move(id)), spec_(std::move(spec)), bubblewrap_(std::move(bubblewrap)), channel_(std::move(channel)) {}
  ~FakeEnclosure() override { end(); }

  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return "bubblewrap"; }
  Kernel kernel() const override { return Kernel::shared; }
  Channel& channel() override { return *channel_; }

  Task<Status> set_limits(const Limits&) override {
    co_return fail(ErrorCode::unsupported, "the fake backend has no limits");
  }
  // Stopped by signals, which a program with a debugger could see.
  Task<Status> freeze(Deadline) override {
    std::set<pid_t> stopped;
    for (std::size_t before = 1; before != stopped.size();) {
      before = stopped.size();
      add_descendants(bubblewrap_.pid(), stopped);
      for (const pid_t pid : stopped) ::kill(pid, SIGSTOP);
    }
    co_return Status{};
  }
  Task<Status> thaw(Deadline) override {
    std::set<pid_t> all;
    add_descendants(bubblewrap_.pid(), all);
    for (const pid_t pid : all) ::kill(pid, SIGCONT);
    co_return Status{};
  }
  Task<Result<ResourceUse>> resource_use(Deadline) override { co_return ResourceUse{}; }
  Task<Result<Evidence>> evidence() override { co_return Evidence{}; }
  bool has_cheap_evidence() const override { return true; }
  Task<Status> destroy(Deadline) override {
    channel_->close();
    end();
    co_return Status{};
  }

 private:
  // Bubblewrap's end would be the agent's too, but for an agent that is stopped: it never learns of it.
  void end() {
    if (ended_) return;
    const std::string pid = std::to_string(bubblewrap_.pid());
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    bubblewrap_.kill();
    bubblewrap_.reap();
    ended_ = true;
  }

  SandboxId id_;
  SandboxSpec spec_;
  process::Child bubblewrap_;
  bool ended_ = false;
  std::unique_ptr<PipeChannel> channel_;
};

class FakeBackend final : public Backend {
 public:
  FakeBackend(Executor executor, FakeOptions options) : executor_(std::move(executor)), options_(std::move(options)) {}

  std::string_view name() const override { return "fake"; }

  Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline) override {
    if (auto valid = validate(spec); !valid) co_return fail(std::move(valid).error());
    if (!spec.image.empty()) co_return fail(ErrorCode::not_found, "the fake backend has no image '" + spec.image + "'");
    co_return start(std::move(spec));
  }

  Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline) override {
    co_return std::vector<std::unique_ptr<Enclosure>>{};
  }

  Task<std::vector<Finding>> examine(Deadline) override { co_return std::vector<Finding>{}; }

 private:
  Result<std::unique_ptr<Enclosure>> start(SandboxSpec spec) {
    CLOCHE_TRY(process::Pipe in, process::make_pipe());
    CLOCHE_TRY(process::Pipe out, process::make_pipe());

    SandboxId id{"fake-" + random_hex(8)};
    std::vector<std::string> argv = fake_sandbox_argv(options_, spec, id);
    argv.insert(argv.end(), {"/.cloche/agent", "init"});

    process::Spec bubblewrap;
    bubblewrap.program = process::find_program(options_.bubblewrap).value_or(options_.bubblewrap);
    bubblewrap.argv = std::move(argv);
    bubblewrap.environment = process::own_environment();
    bubblewrap.in = in.read.get();
    bubblewrap.out = out.write.get();
    bubblewrap.err = STDERR_FILENO;
    bubblewrap.session = process::Spec::Session::callers;
    CLOCHE_TRY(process::Child child, process::Child::start(bubblewrap));
    auto channel = std::make_unique<PipeChannel>(executor_, std::move(in.write), std::move(out.read));
    return std::make_unique<FakeEnclosure>(std::move(id), std::move(spec), std::move(child), std::move(channel));
  }

  Executor executor_;
  FakeOptions options_;
};

}  // namespace

std::vector<std::string> fake_sandbox_argv(const FakeOptions& options, const SandboxSpec& spec, const SandboxId& id) {
  std::vector<std::string> argv{options.bubblewrap,
                                "--unshare-pid",
                                "--unshare-ipc",
                                "--unshare-uts",
                                "--hostname",
                                id.value,
                                "--unshare-net",
                                "--unshare-cgroup-try",
                                "--die-with-parent",
                                "--as-pid-1",
                                "--cap-add",
                                "ALL",
                                "--ro-bind",
                                "/usr",
                                "/usr",
                                "--proc",
                                "/proc",
                                "--dev",
                                "/dev",
                                "--perms",
                                "1777",
                                "--tmpfs",
                                "/tmp",
                                "--perms",
                                "1777",
                                "--tmpfs",
                                "/dev/shm",
                                "--mqueue",
                                "/dev/mqueue",
                                "--perms",
                                "1777",
                                "--tmpfs",
                                spec.work_dir,
                                "--dir",
                                "/etc",
                                "--remount-ro",
                                "/dev",
                                "--ro-bind",
                                options.agent_path,
                                "/.cloche/agent"};
  for (const char* link : {"/bin", "/sbin", "/lib", "/lib32", "/lib64"}) {
    char target[64];
    const ssize_t n = ::readlink(link, target, sizeof target);
    if (n > 0) argv.insert(argv.end(), {"--symlink", std::string(target, static_cast<std::size_t>(n)), link});
  }
  for (const char* path : {"/etc/alternatives", "/etc/ld.so.cache", "/etc/matplotlibrc"})
    argv.insert(argv.end(), {"--ro-bind-try", path, path});
  for (const Mount& mount : spec.mounts) {
    argv.insert(argv.end(), {mount.access == Access::read_only ? "--ro-bind" : "--bind", mount.source, mount.target});
  }
  argv.insert(argv.end(), {"--chdir", "/", "--remount-ro", "/"});
  return argv;
}

std::unique_ptr<Backend> create_fake_backend(Executor executor, FakeOptions options) {
  std::signal(SIGPIPE, SIG_IGN);  // its channels are plain pipes, which an agent that was killed leaves broken
  return std::make_unique<FakeBackend>(std::move(executor), std::move(options));
}

}  // namespace cloche
