#include "sandbox/live_sandbox.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "core/async/exceptions.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "sandbox/channel_connection.hpp"

namespace cloche {

namespace {

constexpr std::chrono::seconds cleanup_timeout{10};
// Well beyond what an agent lets be started; each is followed, which has its price.
constexpr std::size_t most_background = 256;
constexpr std::uint64_t oldest_ms = std::uint64_t{1} << 40;
constexpr std::size_t longest_label = 4096;

// A reply of one message, then the stream's end.
template <class Message>
Task<Result<Message>> single_reply(AgentStream& stream, Deadline deadline) {
  std::optional<Message> reply;
  for (;;) {
    auto event = co_await stream.next(deadline);
    if (!event) co_return fail(std::move(event).error());
    if (auto* message = std::get_if<StreamMessage>(&*event)) {
      auto decoded = wire::decode<Message>(message->bytes);
      if (!decoded) co_return fail(std::move(decoded).error());
      reply = std::move(*decoded);
    } else if (std::holds_alternative<StreamClosed>(*event)) {
      if (!reply) co_return fail(ErrorCode::protocol, "the sandbox's agent did not respond");
      co_return std::move(*reply);
    }
  }
}

// Removes a sandbox that did not start, and says what the kernel knows of the cause.
Task<std::string> take_down(AgentLink& link, Enclosure& enclosure) {
  co_await link.shut_down();
  const auto counted = co_await enclosure.evidence();
  auto destroyed = co_await enclosure.destroy(Deadline::after(cleanup_timeout));
  if (!destroyed) log::error("sandbox {}: {}", enclosure.id().value, destroyed.error().message);
  const bool out_of_memory = counted && counted->oom_kills > 0;
  co_return out_of_memory ? " (its memory limit is too low for it to start)" : "";
}

// A caller's own variable stays; a list of directories is extended.
void add_environment(std::map<std::string, std::string>& env, const std::map<std::string, std::string>& more) {
  for (const auto& [name, value] : more) {
    const auto [at, is_new] = env.emplace(name, value);
    if (!is_new && name == "LD_LIBRARY_PATH") at->second += ":" + value;
  }
}

std::vector<std::string> kept_paths(const SandboxSpec& spec) {
  std::vector<std::string> paths;
  for (const Mount& mount : spec.mounts) paths.push_back(mount.target);
  return paths;
}

}  // namespace

LiveSandbox::LiveSandbox(const Executor& executor, std::shared_ptr<Enclosure> enclosure,
                         std::unique_ptr<AgentLink> link)
    : enclosure_(std::move(enclosure)),
      ledger_(std::make_shared<OomLedger>(enclosure_)),
      link_(std::move(link)),
      limits_(enclosure_->spec().limits) {
  link_->explain_end_with([ledger = ledger_] { return ledger->cause_of_end(); });
  if (kernel() == Kernel::own) {
    auto read = [walls = enclosure_] { return walls->memory_use(); };
    guard_ = std::make_shared<MemoryGuard>(executor, std::move(read));
  }
}

std::unique_ptr<Exec> LiveSandbox::guarded(std::unique_ptr<Exec> exec) {
  if (guard_) exec->guard_with(*guard_);
  return exec;
}

Task<Result<std::unique_ptr<LiveSandbox>>> LiveSandbox::open(std::unique_ptr<Enclosure> enclosure, Greeting greeting,
                                                             Deadline deadline) {
  std::shared_ptr<Enclosure> shared = std::move(enclosure);
  const Executor executor = co_await asio::this_coro::executor;
  auto link = std::make_unique<AgentLink>(executor, shared);
  const Deadline ready_by = deadline.sooner(Deadline::after(shared->spec().ready_timeout));
  auto keep = kept_paths(shared->spec());
  std::optional<Error> error;
  try {
    fault_point<"sandbox.open">();
    auto ready = co_await link->greet(greeting, std::move(keep), ready_by);
    const Status checked = ready ? check_kernel(shared->runtime(), shared->kernel(), ready->is_gvisor)
                                 : Status(fail(std::move(ready).error()));
    if (!checked) error = checked.error();
  } catch (...) {
    error = to_error("sandbox " + shared->id().value, std::current_exception());
  }
  if (!error) co_return std::make_unique<LiveSandbox>(executor, shared, std::move(link));

  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto cleanup = [&link, &shared] { return take_down(*link, *shared); };
  const std::string cause = co_await shielded(std::move(cleanup));
  co_await asio::this_coro::throw_if_cancelled(throws);
  error->message += cause;
  co_return fail(std::move(*error).at("start sandbox"));
}

Task<Result<std::unique_ptr<Exec>>> LiveSandbox::start(ExecSpec spec, Deadline deadline) {
  StartExtras nothing;
  return start(std::move(spec), std::move(nothing), deadline);
}

Task<Result<std::unique_ptr<Exec>>> LiveSandbox::start(ExecSpec spec, StartExtras extras, Deadline deadline) {
  add_environment(spec.env, enclosure_->environment());
  auto request = to_request(spec, enclosure_->spec(), limits_, kernel());
  if (!request) co_return fail(std::move(request).error());
  request->file = std::move(extras.file);
  Exec::Caps caps;
  if (extras.change_scan) {
    caps.changes = extras.change_scan->caps;
    request->change_scan = files().changes_request(std::move(extras.change_scan->place), caps.changes,
                                                   std::move(extras.change_scan->discard));
  }
  auto stream = link_->open(wire::encode(*request));
  if (!stream) co_return fail(std::move(stream).error());
  caps.output = request->keep_bytes;
  if (request->events) caps.events = request->events->keep_bytes;
  auto exec = guarded(std::make_unique<Exec>(std::move(*stream), ledger_, caps));
  if (spec.lifetime == Lifetime::background) {
    auto started = co_await exec->wait_started(deadline);
    if (!started) co_return fail(std::move(started).error());
  }
  co_return exec;
}

Task<Result<std::unique_ptr<Exec>>> LiveSandbox::start_relayed(ExecSpec spec, std::string label, Deadline deadline) {
  if (label.empty() || label.size() > longest_label)
    co_return fail(ErrorCode::invalid_argument, "the label of a program must have 1 to 4096 bytes");
  add_environment(spec.env, enclosure_->environment());
  spec.lifetime = Lifetime::background;
  spec.keep_output = Bytes{UINT64_MAX};  // 0 would be the agent's own limit
  spec.stop_output = Bytes{0};
  auto request = to_request(spec, enclosure_->spec(), limits_, kernel());
  if (!request) co_return fail(std::move(request).error());
  request->label = std::move(label);
  request->is_relayed = true;
  auto stream = link_->open(wire::encode(*request));
  if (!stream) co_return fail(std::move(stream).error());
  auto exec = std::make_unique<Exec>(std::move(*stream), ledger_, Exec::Caps{});
  auto started = co_await exec->wait_started(deadline);
  if (!started) co_return fail(std::move(started).error());
  co_return exec;
}

Task<Result<Exec::Collected>> LiveSandbox::run(ExecSpec spec, Deadline deadline) {
  const bool has_input = spec.stdin_mode == Stdin::bytes;
  std::string input = std::move(spec.input);
  auto started = co_await start(std::move(spec), deadline);
  if (!started) co_return fail(std::move(started).error());
  const auto exec = std::move(*started);
  if (!has_input) {
    auto collected = co_await exec->collect(deadline);
    co_return collected;
  }
  using asio::experimental::awaitable_operators::operator&&;
  const auto feed = [&]() -> Task<> {
    // A program that does not read its input to the end is none of our business.
    [[maybe_unused]] auto sent = co_await exec->write_stdin(std::move(input), deadline);
    exec->close_stdin();
  };
  auto collected = co_await (exec->collect(deadline) && feed());
  co_return collected;
}

Task<Result<std::vector<BackgroundEntry>>> LiveSandbox::list_background(Deadline deadline) {
  const std::string request = wire::encode(wire::ExecListRequest{});
  auto stream = link_->open(request);
  if (!stream) co_return fail(std::move(stream).error());
  auto list = co_await single_reply<wire::ExecList>(**stream, deadline);
  if (!list) co_return fail(std::move(list).error());
  if (list->execs.size() > most_background) {
    co_return fail(ErrorCode::protocol, "the sandbox's agent sent too many background programs");
  }
  std::vector<BackgroundEntry> entries;
  for (auto& exec : list->execs) {
    BackgroundEntry entry;
    entry.id = exec.exec_id;
    entry.pid = exec.pid;
    entry.argv = std::move(exec.argv);
    entry.running = exec.running;
    entry.age = std::chrono::milliseconds(std::min(exec.age_ms, oldest_ms));
    entry.label = std::move(exec.label);
    entries.push_back(std::move(entry));
  }
  co_return entries;
}

Task<Result<std::unique_ptr<Exec>>> LiveSandbox::attach(std::uint64_t background_id, AfterEnd after_end,
                                                        std::uint64_t out_offset, std::uint64_t err_offset,
                                                        Bytes most) {
  wire::ExecAttachRequest request;
  request.exec_id = background_id;
  request.out_offset = out_offset;
  request.err_offset = err_offset;
  request.collect = after_end == AfterEnd::collect;
  auto stream = link_->open(wire::encode(request));
  if (!stream) co_return fail(std::move(stream).error());
  Exec::Caps caps;
  caps.output = most.count;
  co_return guarded(std::make_unique<Exec>(std::move(*stream), ledger_, caps));
}

Task<Result<std::unique_ptr<TcpConnection>>> LiveSandbox::connect(std::uint16_t port, Deadline deadline) {
  wire::TcpRequest request;
  request.port = port;
  auto stream = link_->open(wire::encode(request));
  if (!stream) co_return fail(std::move(stream).error());
  auto answer = co_await (*stream)->next(deadline);
  if (!answer) co_return fail(std::move(answer).error());
  const auto* message = std::get_if<StreamMessage>(&*answer);
  if (message == nullptr || !wire::decode<wire::TcpConnected>(message->bytes)) {
    co_return fail(ErrorCode::protocol, "the sandbox's agent did not confirm the connection");
  }
  co_return std::make_unique<ChannelConnection>(std::move(*stream));
}

Task<Result<std::unique_ptr<EgressListener>>> LiveSandbox::open_egress(EgressListenSpec spec, Deadline deadline) {
  if (spec.transparent && !has_transparent_egress())
    co_return fail(ErrorCode::unsupported, "open egress: this sandbox cannot redirect connections of programs");
  if (enclosure_->can_listen_inside() && link_->egress_level() >= 1) {
    auto listeners = co_await enclosure_->listen_inside(spec.proxy_port, spec.transparent);
    if (listeners) co_return co_await EgressListener::open(*link_, spec, std::move(*listeners), deadline);
    if (listeners.error().code == ErrorCode::already_exists)
      co_return fail(std::move(listeners).error().at("open egress"));
    log::debug("sandbox {}: the agent listens: {}", id().value, listeners.error().message);
  }
  auto opened = co_await EgressListener::open(*link_, spec, deadline);
  co_return opened;
}

Task<Status> LiveSandbox::start_zygote(std::string name, std::string interpreter, std::vector<std::string> imports,
                                       Deadline deadline) {
  return start_zygote(std::move(name), std::move(interpreter), std::move(imports), std::string(), deadline);
}

Task<Status> LiveSandbox::start_zygote(std::string name, std::string interpreter, std::vector<std::string> imports,
                                       std::string harness, Deadline deadline) {
  wire::ZygoteRequest request;
  request.zygote = std::move(name);
  request.interpreter = std::move(interpreter);
  request.imports = std::move(imports);
  request.harness = std::move(harness);
  for (const auto& [key, value] : enclosure_->environment()) request.env.push_back(key + "=" + value);
  auto stream = link_->open(wire::encode(request));
  if (!stream) co_return fail(std::move(stream).error());
  auto event = co_await (*stream)->next(deadline);
  if (!event) co_return fail(std::move(event).error().at("start zygote"));
  co_return Status{};
}

Task<Status> LiveSandbox::attach(std::vector<MountedVolume> volumes, Deadline deadline) {
  Files made = files();
  for (const MountedVolume& each : volumes) {
    const std::string& target = each.volume.target;
    if (target.starts_with(std::string(volumes_directory) + "/")) continue;
    FilePath place(target);
    const DirectoryOptions how;
    auto directory = co_await made.make_directory(std::move(place), how, deadline);
    if (!directory) co_return fail(std::move(directory).error().at("make the target of a volume"));
  }
  co_return co_await enclosure_->attach(std::move(volumes));
}

Task<Result<ResetReport>> LiveSandbox::reset(Deadline deadline) {
  if (!enclosure_->volumes().empty()) {
    co_return fail(ErrorCode::unsupported, "reset sandbox: it has volumes, and can only be destroyed");
  }
  if (spec().root) {
    co_return fail(ErrorCode::unsupported, "reset sandbox: its programs may be root, so it can only be destroyed");
  }
  if (!enclosure_->can_be_reset()) {
    co_return fail(ErrorCode::unsupported,
                   "reset sandbox: this backend cannot prove that it is clean, so it can only be destroyed");
  }
  const std::string request = wire::encode(wire::ResetRequest{});
  auto stream = link_->open(request);
  if (!stream) co_return fail(std::move(stream).error());
  auto report = co_await single_reply<wire::ResetReport>(**stream, deadline);
  if (!report) co_return fail(std::move(report).error().at("reset sandbox"));
  if (!report->leftovers.empty()) {
    co_return fail(ErrorCode::internal, "reset sandbox: not clean: " + report->leftovers.front() +
                                            (report->leftovers.size() > 1 ? " and more" : ""));
  }
  auto checked = co_await enclosure_->check_reset();
  if (!checked) co_return fail(std::move(checked).error().at("reset sandbox: not clean"));
  ResetReport result;
  result.killed = report->killed;
  result.removed = report->removed;
  co_return result;
}

Task<Status> LiveSandbox::set_limits(Limits limits) {
  if (auto valid = validate(limits); !valid) co_return valid;
  const Limits& made = enclosure_->spec().limits;
  if (are_of_image(limits)) limits = with_sizes_of(limits, made);
  if (limits.work_dir != made.work_dir || limits.tmp_dir != made.tmp_dir || limits.shm_dir != made.shm_dir) {
    co_return fail(ErrorCode::invalid_argument,
                   "the sizes of work directory, /tmp and /dev/shm cannot be changed after a sandbox is created");
  }
  const bool touches_walls =
      limits.memory != limits_.memory || limits.cpus != limits_.cpus || limits.pids != limits_.pids;
  if (touches_walls) {
    auto set = co_await enclosure_->set_limits(limits);
    if (!set) co_return set;
  }
  limits_ = limits;
  co_return Status{};
}

Task<Status> LiveSandbox::freeze(Deadline deadline) {
  link_->set_frozen(true);
  auto frozen = co_await enclosure_->freeze(deadline);
  co_return frozen;
}

Task<Status> LiveSandbox::thaw(Deadline deadline) {
  auto thawed = co_await enclosure_->thaw(deadline);
  if (thawed) link_->set_frozen(false);
  co_return thawed;
}

Task<Result<ResourceUse>> LiveSandbox::resource_and_disk_use(Deadline deadline) {
  auto use = co_await enclosure_->resource_use(deadline);
  if (!use) co_return use;
  Files here = files();
  FilePath place(spec().work_dir);
  auto space = co_await here.space(std::move(place), deadline);
  if (space) use->disk = space->used;
  co_return use;
}

Task<Status> LiveSandbox::destroy(Deadline deadline) {
  auto work = [this, deadline]() -> Task<Status> {
    link_->cut_off({ErrorCode::sandbox_lost, "the sandbox was destroyed"});
    co_await link_->shut_down();
    auto ended = co_await enclosure_->destroy(deadline);
    co_return ended;
  };
  auto destroyed = co_await shielded(std::move(work));
  co_return destroyed;
}

}  // namespace cloche
