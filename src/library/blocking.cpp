// The blocking library: a thread with an event loop, and every call a coroutine awaited from outside.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "cloche/async.hpp"
#include "cloche/sandbox.hpp"
#include "library/blocking_handles.hpp"

namespace cloche {

namespace {

namespace asio = boost::asio;

const std::function<void(std::string_view)>& listener_of(const OutputListener& listener, Stream stream) {
  switch (stream) {
    case Stream::out: return listener.out;
    case Stream::err: return listener.err;
    case Stream::event: break;
  }
  return listener.event;
}

async::Task<Outcome> listen(async::Exec& exec, const OutputListener& listener) {
  for (;;) {
    auto piece = co_await exec.next();
    if (auto* outcome = std::get_if<Outcome>(&piece)) co_return std::move(*outcome);
    const auto& output = std::get<Output>(piece);
    const auto& tell = listener_of(listener, output.stream);
    if (tell) tell(output.bytes);
  }
}

async::Task<> feed(async::Exec& exec, std::string input) {
  co_await exec.write_stdin(std::move(input));
  exec.close_stdin();
}

async::Task<RunResult> run_listening(async::Sandbox& sandbox, ExecSpec spec, OutputListener listener) {
  const bool has_input = spec.stdin_mode == Stdin::bytes;
  std::string input = std::move(spec.input);
  if (has_input) spec.stdin_mode = Stdin::stream;
  auto exec = co_await sandbox.start(std::move(spec));
  RunResult result;
  if (has_input) {
    // Concurrently: a program may print more than the channel can hold before it has read all its input.
    using asio::experimental::awaitable_operators::operator&&;
    result.outcome = co_await (listen(exec, listener) && feed(exec, std::move(input)));
  } else {
    result.outcome = co_await listen(exec, listener);
  }
  co_return result;
}

}  // namespace

struct Engine::Impl {
  LoopThread loop;
  async::Engine engine;

  explicit Impl(EngineOptions options) : engine(loop.io().get_executor(), std::move(options)) {}
  ~Impl() {
    loop.wait_for([this]() -> async::Task<> { co_await engine.close(); });
  }
};

Engine::Engine(EngineOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
Engine::Engine(Engine&&) noexcept = default;
Engine::~Engine() = default;

Sandbox Engine::create(SandboxSpec spec) {
  auto impl = std::make_unique<Sandbox::Impl>();
  impl->owner = impl_;
  impl->loop = &impl_->loop;
  auto& engine = impl_->engine;
  impl->sandbox = std::make_unique<async::Sandbox>(
      impl_->loop.wait_for([&engine, spec = std::move(spec)]() { return engine.create(spec); }));
  return Sandbox(std::move(impl));
}

std::vector<Sandbox> Engine::recover() {
  auto& engine = impl_->engine;
  auto found = impl_->loop.wait_for([&engine]() { return engine.recover(); });
  std::vector<Sandbox> sandboxes;
  for (auto& sandbox : found) {
    auto impl = std::make_unique<Sandbox::Impl>();
    impl->owner = impl_;
    impl->loop = &impl_->loop;
    impl->sandbox = std::make_unique<async::Sandbox>(std::move(sandbox));
    sandboxes.emplace_back(std::move(impl));
  }
  return sandboxes;
}

std::vector<HostFinding> Engine::examine() {
  auto& engine = impl_->engine;
  return impl_->loop.wait_for([&engine]() { return engine.examine(); });
}

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sandbox::Sandbox(Sandbox&&) noexcept = default;
Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Sandbox::~Sandbox() {
  if (!impl_ || !impl_->sandbox) return;
  try {
    if (impl_->is_lent) {
      impl_->give_back();
    } else {
      destroy();
    }
  } catch (const std::exception&) {
    // The engine has logged it; what is left is found by the next recover().
  }
}

const std::string& Sandbox::id() const { return impl_->sandbox->id(); }
const SandboxSpec& Sandbox::spec() const { return impl_->sandbox->spec(); }
std::string Sandbox::runtime() const { return impl_->sandbox->runtime(); }

RunResult Sandbox::run(ExecSpec spec) {
  return impl_->wait_for([spec = std::move(spec)](async::Sandbox& sandbox) { return sandbox.run(spec); });
}

RunResult Sandbox::run(ExecSpec spec, OutputListener listener) {
  return impl_->wait_for([spec = std::move(spec), listener = std::move(listener)](async::Sandbox& sandbox) {
    return run_listening(sandbox, spec, listener);
  });
}

void Sandbox::write_file(const std::string& path, std::string bytes, std::uint32_t mode) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.write_file(path, std::move(bytes), mode); });
}
std::string Sandbox::read_file(const std::string& path, Bytes most) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.read_file(path, most); });
}
Entry Sandbox::stat(const std::string& path) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.stat(path); });
}
EntryListing Sandbox::list(const std::string& path) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.list(path); });
}
void Sandbox::remove(const std::string& path) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.remove(path); });
}
void Sandbox::make_directory(const std::string& path) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.make_directory(path); });
}
void Sandbox::move(const std::string& from, const std::string& to) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.move(from, to); });
}
std::uint64_t Sandbox::edit(const std::string& path, Edit edit) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.edit(path, std::move(edit)); });
}
EntryListing Sandbox::glob(const std::string& path, const std::string& pattern) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.glob(path, pattern); });
}
MatchListing Sandbox::grep(const std::string& path, const std::string& pattern) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.grep(path, pattern); });
}
void Sandbox::unpack(const std::string& path, std::string tar) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.unpack(path, std::move(tar)); });
}
std::string Sandbox::pack(const std::string& path, Bytes most) {
  return impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.pack(path, most); });
}
void Sandbox::start_zygote(const std::string& name, std::vector<std::string> imports) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.start_zygote(name, std::move(imports)); });
}
void Sandbox::prepare_scripts(ScriptHarness harness) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.prepare_scripts(std::move(harness)); });
}
ScriptResult Sandbox::run_script(ScriptRequest request, ScriptListener listener) {
  return impl_->wait_for(
      [&](async::Sandbox& sandbox) { return sandbox.run_script(std::move(request), std::move(listener)); });
}
void Sandbox::set_limits(Limits limits) {
  impl_->wait_for([&](async::Sandbox& sandbox) { return sandbox.set_limits(limits); });
}
void Sandbox::reset() {
  impl_->wait_for([](async::Sandbox& sandbox) { return sandbox.reset(); });
}
void Sandbox::destroy() {
  impl_->wait_for([](async::Sandbox& sandbox) { return sandbox.destroy(); });
}

}  // namespace cloche
