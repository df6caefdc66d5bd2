#include "library/async_handles.hpp"
#include "library/throwing.hpp"
#include "script/script_executor.hpp"

namespace cloche::async {

namespace {

// How long the sandbox may be silent after a program's own limit before it is given up.
constexpr std::chrono::seconds beyond_limit{30};
constexpr std::chrono::seconds end_timeout{30};
constexpr std::chrono::seconds reset_timeout{10};
constexpr std::chrono::seconds zygote_timeout{60};

Deadline guard_of(const ExecSpec& spec) {
  return spec.wall_limit ? Deadline::after(*spec.wall_limit + beyond_limit) : Deadline::never();
}

EntryType type_of(wire::FileType type) {
  switch (type) {
    case wire::FileType::regular: return EntryType::regular;
    case wire::FileType::directory: return EntryType::directory;
    case wire::FileType::symlink: return EntryType::symlink;
    case wire::FileType::fifo: return EntryType::fifo;
    case wire::FileType::socket: return EntryType::socket;
    case wire::FileType::device: return EntryType::device;
    case wire::FileType::other: break;
  }
  return EntryType::other;
}

Entry to_entry(wire::FileEntry&& from) {
  Entry entry;
  entry.path = std::move(from.path);
  entry.type = type_of(from.type);
  entry.size = from.size;
  entry.mode = from.mode;
  entry.modified_ns = from.mtime_ns;
  entry.link_target = std::move(from.link_target);
  return entry;
}

EntryListing to_listing(EntryList&& from) {
  EntryListing listing;
  listing.cut = from.cut;
  for (auto& entry : from.entries) listing.entries.push_back(to_entry(std::move(entry)));
  return listing;
}

}  // namespace

struct Exec::Impl {
  std::unique_ptr<cloche::Exec> exec;
};

Sandbox wrap(std::shared_ptr<Engine::Impl> engine, std::unique_ptr<LiveSandbox> sandbox) {
  auto impl = std::make_unique<Sandbox::Impl>();
  impl->engine = std::move(engine);
  impl->live = std::move(sandbox);
  return Sandbox(std::move(impl));
}

Sandbox wrap(std::shared_ptr<Engine::Impl> engine, pool::Lease lease, const void* lender) {
  auto impl = std::make_unique<Sandbox::Impl>();
  impl->engine = std::move(engine);
  impl->live = lease.shared();
  impl->lease = std::move(lease);
  impl->lender = lender;
  return Sandbox(std::move(impl));
}

bool give_back(Sandbox::Impl& sandbox) {
  sandbox.let_go();
  return sandbox.lease->give_back();
}

bool destroy_lent(Sandbox::Impl& sandbox) {
  sandbox.let_go();
  return sandbox.lease->destroy();
}

Exec::Exec() = default;
Exec::Exec(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exec::Exec(Exec&&) noexcept = default;
Exec& Exec::operator=(Exec&&) noexcept = default;
Exec::~Exec() = default;

Task<std::variant<Output, Outcome>> Exec::next() {
  auto event = co_await impl_->exec->next();
  co_return value_or_throw(std::move(event));
}

Task<> Exec::write_stdin(std::string bytes) {
  auto written = co_await impl_->exec->write_stdin(std::move(bytes));
  value_or_throw(std::move(written));
}

void Exec::close_stdin() { impl_->exec->close_stdin(); }
void Exec::signal(int number) { impl_->exec->signal(number); }
void Exec::resize(TerminalSize size) { impl_->exec->resize(size); }
void Exec::stop() { impl_->exec->stop(); }
std::uint64_t Exec::background_id() const { return impl_->exec->background_id(); }

Sandbox::Sandbox() = default;
Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sandbox::Sandbox(Sandbox&&) noexcept = default;
Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Sandbox::~Sandbox() {
  // A lease gives back by itself.
  if (impl_ && impl_->live && !impl_->lease) impl_->engine->end(std::move(impl_->live));
}

const std::string& Sandbox::id() const { return impl_->get().id().value; }
const SandboxSpec& Sandbox::spec() const { return impl_->get().spec(); }
std::string Sandbox::runtime() const { return impl_->get().runtime(); }

Task<Exec> Sandbox::start(ExecSpec spec) {
  if (spec.stdin_mode == Stdin::bytes) {
    throw SandboxArgumentError("start() does not send input; use Stdin::stream and write_stdin(), or run()");
  }
  const auto live = impl_->share();
  impl_->bind(spec);
  auto started = co_await live->start(std::move(spec));
  auto impl = std::make_unique<Exec::Impl>();
  impl->exec = value_or_throw(std::move(started));
  co_return Exec(std::move(impl));
}

Task<RunResult> Sandbox::run(ExecSpec spec) {
  const Deadline deadline = guard_of(spec);
  const auto live = impl_->share();
  impl_->bind(spec);
  auto ran = co_await live->run(std::move(spec), deadline);
  co_return value_or_throw(std::move(ran));
}

Task<std::vector<BackgroundExec>> Sandbox::background() {
  const auto live = impl_->share();
  auto listed = co_await live->list_background();
  std::vector<BackgroundExec> execs;
  for (auto& entry : value_or_throw(std::move(listed))) {
    BackgroundExec exec;
    exec.id = entry.id;
    exec.argv = std::move(entry.argv);
    exec.running = entry.running;
    exec.age = entry.age;
    execs.push_back(std::move(exec));
  }
  co_return execs;
}

Task<Exec> Sandbox::attach(std::uint64_t background_id) {
  const auto live = impl_->share();
  auto attached = co_await live->attach(background_id, LiveSandbox::AfterEnd::keep);
  auto impl = std::make_unique<Exec::Impl>();
  impl->exec = value_or_throw(std::move(attached));
  co_return Exec(std::move(impl));
}

Task<> Sandbox::write_file(std::string path, std::string bytes, std::uint32_t mode) {
  WriteOptions options;
  options.mode = mode;
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto written = co_await files.write(std::move(place), std::move(bytes), options);
  value_or_throw(std::move(written));
}

Task<std::string> Sandbox::read_file(std::string path, Bytes most) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(path);
  auto read = co_await files.read(std::move(place), FileRange{}, most);
  auto result = value_or_throw(std::move(read));
  if (result.cut) throw SandboxResourceError(path + " is larger than " + to_string(most));
  co_return std::move(result.bytes);
}

Task<Entry> Sandbox::stat(std::string path) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto found = co_await files.stat(std::move(place));
  co_return to_entry(value_or_throw(std::move(found)));
}

Task<EntryListing> Sandbox::list(std::string path) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto listed = co_await files.list(std::move(place));
  co_return to_listing(value_or_throw(std::move(listed)));
}

Task<> Sandbox::remove(std::string path) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto removed = co_await files.remove(std::move(place), Recursion::whole_tree, Missing::error);
  value_or_throw(std::move(removed));
}

Task<> Sandbox::make_directory(std::string path) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto made = co_await files.make_directory(std::move(place));
  value_or_throw(std::move(made));
}

Task<> Sandbox::move(std::string from, std::string to) {
  if (from.starts_with('/') != to.starts_with('/')) {
    throw SandboxArgumentError("move: both paths must be absolute, or both relative to the work directory");
  }
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(from));
  auto target = impl_->place(std::move(to));
  auto moved = co_await files.move(std::move(place), std::move(target));
  value_or_throw(std::move(moved));
}

Task<std::uint64_t> Sandbox::edit(std::string path, Edit edit) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(path);
  EditRequest request{std::move(edit.old_text), std::move(edit.new_text), edit.expected};
  auto edited = co_await files.edit(std::move(place), std::move(request));
  const EditResult result = value_or_throw(std::move(edited));
  switch (result.outcome) {
    case EditOutcome::done: break;
    case EditOutcome::file_changed: throw SandboxUnavailableError(path + " changed while it was being edited");
    case EditOutcome::none:
    case EditOutcome::no_match: throw SandboxArgumentError(path + " does not contain the text to replace");
    case EditOutcome::other_count:
      throw SandboxArgumentError(path + " contains the text to replace " + std::to_string(result.matches) + " times");
  }
  co_return result.matches;
}

Task<EntryListing> Sandbox::glob(std::string path, std::string pattern) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto found = co_await files.glob(std::move(place), std::move(pattern));
  co_return to_listing(value_or_throw(std::move(found)));
}

Task<MatchListing> Sandbox::grep(std::string path, std::string pattern) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  GrepOptions options;
  auto found = co_await files.grep(std::move(place), std::move(pattern), std::move(options));
  auto result = value_or_throw(std::move(found));
  MatchListing listing;
  listing.cut = result.cut;
  for (auto& match : result.matches) {
    if (!match.is_context) listing.matches.push_back({std::move(match.path), match.line, std::move(match.text)});
  }
  co_return listing;
}

Task<> Sandbox::unpack(std::string path, std::string tar) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(std::move(path));
  auto source = from_memory(std::move(tar));
  auto unpacked = co_await files.unpack(std::move(place), std::move(source));
  value_or_throw(std::move(unpacked));
}

Task<std::string> Sandbox::pack(std::string path, Bytes most) {
  const auto live = impl_->share();
  auto files = live->files();
  auto place = impl_->place(path);
  std::string tar;
  Files::Sink sink = [&tar, most, path](std::string bytes) -> Task<Status> {
    if (tar.size() + bytes.size() > most.count) {
      co_return fail(ErrorCode::limit_reached, path + " is too large for an archive: more than " + to_string(most));
    }
    tar += bytes;
    co_return Status{};
  };
  auto packed = co_await files.pack(std::move(place), std::move(sink));
  value_or_throw(std::move(packed));
  co_return tar;
}

Task<> Sandbox::start_zygote(std::string name, std::vector<std::string> imports) {
  const auto live = impl_->share();
  auto started =
      co_await live->start_zygote(std::move(name), "python3", std::move(imports), Deadline::after(zygote_timeout));
  value_or_throw(std::move(started));
}

Task<> Sandbox::prepare_scripts(ScriptHarness harness) {
  const auto live = impl_->share();
  const ScriptExecutor executor;
  auto prepared = co_await executor.prepare(*live, std::move(harness), Deadline::after(zygote_timeout));
  value_or_throw(std::move(prepared));
}

Task<ScriptResult> Sandbox::run_script(ScriptRequest request) {
  ScriptListener nobody;
  return run_script(std::move(request), std::move(nobody));
}

Task<ScriptResult> Sandbox::run_script(ScriptRequest request, ScriptListener listener) {
  const auto live = impl_->share();
  if (impl_->lease) {
    for (const auto& [name, value] : impl_->lease->binding().env) request.env.emplace(name, value);
  }
  const ScriptExecutor executor;
  auto ran = co_await executor.run(*live, std::move(request), std::move(listener));
  co_return value_or_throw(std::move(ran));
}

Task<> Sandbox::set_limits(Limits limits) {
  const auto live = impl_->share();
  auto set = co_await live->set_limits(limits);
  value_or_throw(std::move(set));
}

Task<> Sandbox::reset() {
  const auto live = impl_->share();
  auto done = co_await live->reset(Deadline::after(reset_timeout));
  value_or_throw(std::move(done));
}

Task<> Sandbox::destroy() {
  if (!impl_->live) co_return;
  const auto live = impl_->let_go();
  if (impl_->lease) {
    impl_->lease->destroy();
    co_return;
  }
  auto destroyed = co_await live->destroy(Deadline::after(end_timeout));
  value_or_throw(std::move(destroyed));
}

}  // namespace cloche::async
