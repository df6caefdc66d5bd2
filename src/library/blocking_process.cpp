#include "cloche/process.hpp"
#include "library/blocking_handles.hpp"

namespace cloche {

struct Process::Impl {
  Impl(std::shared_ptr<void> has_loop, LoopThread& runs_on, async::Exec started)
      : owner(std::move(has_loop)), loop(runs_on), exec(std::move(started)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Calls that do not wait.
  template <class Call>
  auto on_loop(Call call) {
    using R = std::invoke_result_t<Call&, async::Exec&>;
    return loop.wait_for([this, call = std::move(call)]() mutable -> async::Task<R> { co_return call(exec); });
  }

  // Objects of the loop's thread are destroyed there.
  ~Impl() {
    on_loop([](async::Exec& last) { last = async::Exec(); });
  }

  std::shared_ptr<void> owner;
  LoopThread& loop;
  async::Exec exec;
};

namespace {

template <class Start>
std::unique_ptr<Process::Impl> begin(Sandbox& sandbox, Start start) {
  Sandbox::Impl& of = *sandbox.impl();
  async::Exec exec = of.wait_for(std::move(start));
  return std::make_unique<Process::Impl>(of.owner, *of.loop, std::move(exec));
}

}  // namespace

Process::Process(Sandbox& sandbox, ExecSpec spec)
    : impl_(begin(sandbox, [&spec](async::Sandbox& there) { return there.start(std::move(spec)); })) {}
Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;
Process::~Process() = default;

Process Process::attach(Sandbox& sandbox, std::uint64_t background_id) {
  return Process(begin(sandbox, [background_id](async::Sandbox& there) { return there.attach(background_id); }));
}

std::variant<Output, Outcome> Process::next() {
  return impl_->loop.wait_for([this] { return impl_->exec.next(); });
}

RunResult Process::wait() {
  RunResult result;
  for (;;) {
    auto piece = next();
    if (auto* outcome = std::get_if<Outcome>(&piece)) {
      result.outcome = std::move(*outcome);
      return result;
    }
    result.add(std::get<Output>(piece));
  }
}

void Process::write_stdin(std::string bytes) {
  impl_->loop.wait_for([this, &bytes] { return impl_->exec.write_stdin(std::move(bytes)); });
}
void Process::close_stdin() {
  impl_->on_loop([](async::Exec& exec) { exec.close_stdin(); });
}
void Process::signal(int number) {
  impl_->on_loop([number](async::Exec& exec) { exec.signal(number); });
}
void Process::resize(TerminalSize size) {
  impl_->on_loop([size](async::Exec& exec) { exec.resize(size); });
}
void Process::stop() {
  impl_->on_loop([](async::Exec& exec) { exec.stop(); });
}
std::uint64_t Process::background_id() const {
  return impl_->on_loop([](async::Exec& exec) { return exec.background_id(); });
}

std::vector<BackgroundProcess> background_processes(Sandbox& sandbox) {
  auto listed = sandbox.impl()->wait_for([](async::Sandbox& there) { return there.background(); });
  std::vector<BackgroundProcess> processes;
  processes.reserve(listed.size());
  for (auto& each : listed) processes.push_back({each.id, std::move(each.argv), each.running, each.age});
  return processes;
}

}  // namespace cloche
