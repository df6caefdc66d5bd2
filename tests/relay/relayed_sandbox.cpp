#include "relay/relayed_sandbox.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "process/capture.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"
#include "sandbox/testing/fake_backend.hpp"

namespace cloche {

namespace {

using namespace std::chrono_literals;

// The stdio of one `cloche-agent dial`.
class DialChannel final : public Channel {
 public:
  DialChannel(Executor executor, process::Child child, UniqueFd in, UniqueFd out,
              std::shared_ptr<std::set<pid_t>> living)
      : child_(std::move(child)),
        in_(executor, in.release()),
        out_(executor, out.release()),
        living_(std::move(living)) {
    living_->insert(child_.pid());
  }
  ~DialChannel() override { living_->erase(child_.pid()); }

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    boost::system::error_code error;
    const std::size_t n = co_await out_.async_read_some(asio::buffer(into.data(), into.size()),
                                                        asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::eof) co_return std::size_t{0};
    if (error) co_return fail(ErrorCode::unavailable, "dial: " + error.message());
    co_return n;
  }
  Task<Status> write_all(std::string_view bytes) override {
    boost::system::error_code error;
    co_await asio::async_write(in_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return fail(ErrorCode::unavailable, "dial: " + error.message());
    co_return Status{};
  }
  void close() override {
    boost::system::error_code ignored;
    in_.close(ignored);
    out_.close(ignored);
  }

 private:
  process::Child child_;
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  std::shared_ptr<std::set<pid_t>> living_;
};

class RelayedEnclosure final : public Enclosure {
 public:
  RelayedEnclosure(Executor executor, Dial dial, ResumeOptions options)
      : channel_(std::move(executor), std::move(dial), id_.value, options) {}

  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return "bubblewrap"; }
  Kernel kernel() const override { return Kernel::shared; }
  Channel& channel() override { return channel_; }
  Task<Status> set_limits(const Limits&) override { co_return Status{}; }
  Task<Result<Evidence>> evidence() override { co_return Evidence{}; }
  bool has_cheap_evidence() const override { return true; }
  Task<Status> destroy(Deadline) override {
    co_await channel_.shut_down();
    co_return Status{};
  }

 private:
  SandboxId id_{"relayed"};
  SandboxSpec spec_;
  ResumableChannel channel_;
};

// Until these words are there, or the pipe ends.
bool wait_for_words(int fd, std::string_view words) {
  std::string heard;
  for (;;) {
    if (heard == words) return true;
    pollfd polled{fd, POLLIN, 0};
    char bytes[256];
    if (::poll(&polled, 1, 60'000) != 1) return false;
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n <= 0) return false;
    heard.append(bytes, static_cast<std::size_t>(n));
  }
}

pid_t child_of(pid_t pid) {
  const std::string name = std::to_string(pid);
  std::ifstream children("/proc/" + name + "/task/" + name + "/children");
  pid_t child = -1;
  children >> child;
  return child;
}

// A program in the mounts and the network of the sandbox. `nsenter` becomes it, so their pid is the same.
process::Spec in_namespaces(pid_t first, const std::string& verb) {
  process::Spec spec;
  spec.program = process::find_program("nsenter").value_or("/usr/bin/nsenter");
  spec.argv = {"nsenter", "-t", std::to_string(first), "-m", "-n", "/.cloche/agent", verb};
  spec.environment = process::own_environment();
  spec.parent_death = process::Spec::ParentDeath::is_killed;
  return spec;
}

}  // namespace

Result<std::unique_ptr<RelayedSandbox>> RelayedSandbox::start(Executor executor, const std::string& agent_path,
                                                              Order order) {
  std::signal(SIGPIPE, SIG_IGN);
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  const FakeOptions options{.agent_path = agent_path};
  process::Spec spec;
  spec.argv = fake_sandbox_argv(options, SandboxSpec{}, SandboxId{"relayed"});
  // The substitution ends when the starter has ended and nothing of the relay keeps its stdout open.
  const char* relay_first = "said=$(/.cloche/agent relay) && echo $said && exec sleep 1000000";
  const char* agent_first = "echo ready && exec /.cloche/agent pod 1000 1000 /workspace /own /tmp 2>/dev/null";
  // Before the root becomes read-only.
  if (order == Order::agent_first) spec.argv.insert(spec.argv.end() - 2, {"--tmpfs", "/own"});
  spec.argv.insert(spec.argv.end(), {"/bin/sh", "-c", order == Order::agent_first ? agent_first : relay_first});
  spec.program = process::find_program(options.bubblewrap).value_or(options.bubblewrap);
  spec.environment = process::own_environment({{"CLOCHE_TEST_SECRET", "of-the-starter"}});
  spec.out = out.write.get();
  spec.err = STDERR_FILENO;
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  out.write.reset();
  if (!wait_for_words(out.read.get(), "ready\n")) return fail(ErrorCode::internal, "the relay was not ready");
  const pid_t first = child_of(child.pid());
  if (first <= 0) return fail(ErrorCode::internal, "bubblewrap has no child");
  return std::unique_ptr<RelayedSandbox>(new RelayedSandbox(std::move(executor), std::move(child), first, order));
}

RelayedSandbox::RelayedSandbox(Executor executor, process::Child bubblewrap, pid_t first, Order order)
    : executor_(std::move(executor)), bubblewrap_(std::move(bubblewrap)), first_(first), order_(order) {}

RelayedSandbox::~RelayedSandbox() {
  // Its number may belong to another process once it has ended.
  if (child_of(bubblewrap_.pid()) == first_) ::kill(first_, SIGKILL);
  bubblewrap_.kill();
  bubblewrap_.reap();
}

Dial RelayedSandbox::dial() {
  return [this](Deadline) -> Task<Result<std::unique_ptr<Channel>>> {
    ++dialled_;
    CLOCHE_CO_TRY(process::Pipe in, process::make_pipe());
    CLOCHE_CO_TRY(process::Pipe out, process::make_pipe());
    process::Spec spec = in_namespaces(first_, "dial");
    if (order_ == Order::agent_first) spec.argv.emplace_back("patient");
    spec.in = in.read.get();
    spec.out = out.write.get();
    spec.err = STDERR_FILENO;
    CLOCHE_CO_TRY(process::Child child, process::Child::start(spec));
    co_return std::make_unique<DialChannel>(executor_, std::move(child), std::move(in.write), std::move(out.read),
                                            living_);
  };
}

std::unique_ptr<Enclosure> RelayedSandbox::enclosure(ResumeOptions options) {
  return std::make_unique<RelayedEnclosure>(executor_, dial(), options);
}

std::size_t RelayedSandbox::cut_connections() const {
  for (const pid_t pid : *living_) ::kill(pid, SIGKILL);
  return living_->size();
}

std::vector<pid_t> RelayedSandbox::processes(const std::string& name) const {
  std::vector<pid_t> found;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/" + std::to_string(first_) + "/ns/pid", error);
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string digits = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), pid).ptr != digits.data() + digits.size())
      continue;
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path() / "ns/pid", gone) != space || gone) continue;
    // `pid (name) state ...`. Process 1 reaps nothing here, so those that have ended stay as zombies.
    std::string stat;
    std::ifstream file(entry.path() / "stat");
    if (std::getline(file, stat) && stat.find(" (" + name + ") ") != stat.npos &&
        stat.find(" (" + name + ") Z") == stat.npos)
      found.push_back(pid);
  }
  return found;
}

Result<RelayedSandbox::Ran> RelayedSandbox::run_agent(const std::string& verb) const {
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  CLOCHE_TRY(process::Pipe err, process::make_pipe());
  process::Spec spec = in_namespaces(first_, verb);
  spec.out = out.write.get();
  spec.err = err.write.get();
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  out.write.reset();
  err.write.reset();
  process::Captured outputs[] = {{.fd = out.read.get(), .most = kib(64)}, {.fd = err.read.get(), .most = kib(64)}};
  CLOCHE_CHECK(process::capture(child, outputs, CancelToken(Deadline::after(60s))));
  const process::Ended ended = child.reap();
  return Ran{.exit_code = ended.exit_code(), .out = outputs[0].kept, .err = outputs[1].kept};
}

}  // namespace cloche
