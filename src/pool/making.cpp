#include "pool/making.hpp"

#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "script/script_executor.hpp"

namespace cloche::pool {

namespace {

constexpr std::chrono::seconds destroy_patience{10};

Task<Status> start_interpreters(LiveSandbox& sandbox, std::vector<ZygoteSpec> zygotes,
                                std::optional<ScriptHarness> scripts, Deadline deadline) {
  CLOCHE_CO_CHECK(fallible_point<"pool.make.interpreters">());
  for (ZygoteSpec& zygote : zygotes) {
    auto started = co_await sandbox.start_zygote(std::move(zygote.name), std::move(zygote.interpreter),
                                                 std::move(zygote.imports), deadline);
    if (!started) co_return started;
  }
  if (!scripts) co_return Status{};
  const ScriptExecutor executor;
  auto prepared = co_await executor.prepare(sandbox, std::move(*scripts), deadline);
  co_return prepared;
}

}  // namespace

Task<Result<std::shared_ptr<LiveSandbox>>> make_sandbox(Backend& backend, SandboxSpec spec, const Profile& profile,
                                                        Deadline deadline, std::vector<MountedVolume> volumes) {
  Result<std::unique_ptr<Enclosure>> walls = fail(ErrorCode::internal, "not created");
  if (volumes.empty()) {
    walls = co_await backend.create(std::move(spec), deadline);
  } else {
    walls = co_await backend.create_with_volumes(std::move(spec), std::move(volumes), deadline);
  }
  if (!walls) co_return fail(std::move(walls).error());
  auto opened = co_await LiveSandbox::open(std::move(*walls), Greeting::fresh, deadline);
  if (!opened) co_return fail(std::move(opened).error());
  std::shared_ptr<LiveSandbox> sandbox = std::move(*opened);
  if (profile.zygotes.empty() && !profile.scripts) co_return sandbox;
  auto step = [sandbox, zygotes = profile.zygotes, scripts = profile.scripts, deadline] {
    return start_interpreters(*sandbox, zygotes, scripts, deadline);
  };
  auto kept = co_await keep_if(sandbox, std::move(step));
  co_return kept;
}

Task<Result<std::shared_ptr<LiveSandbox>>> keep_if(std::shared_ptr<LiveSandbox> sandbox,
                                                   std::function<Task<Status>()> step) {
  auto done = co_await attempted("sandbox " + sandbox->spec().name, std::move(step));
  if (done) co_return sandbox;
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await destroy_for_sure(sandbox);
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return fail(std::move(done).error());
}

Error refusal_of_making(Error error, const std::string& profile, Callers callers) {
  const std::string step = "no sandbox of profile '" + profile + "' could be created";
  if (callers == Callers::strangers) {
    const bool is_late = error.code == ErrorCode::timeout;
    const std::string when = is_late ? " in time" : "";
    return {is_late ? ErrorCode::timeout : ErrorCode::unavailable, step + when + "; see the server log"};
  }
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::unavailable:
    case ErrorCode::timeout: return error;
    case ErrorCode::internal: return {ErrorCode::unavailable, step + "; see the server log"};
    case ErrorCode::already_exists:
    case ErrorCode::permission_denied:
    case ErrorCode::limit_reached:
    case ErrorCode::cancelled:
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending:
    case ErrorCode::paused:
    case ErrorCode::protocol: break;
  }
  error.code = ErrorCode::unavailable;
  return std::move(error).at(step);
}

Task<Result<std::shared_ptr<LiveSandbox>>> take_over(std::unique_ptr<Enclosure> enclosure, Limits limits,
                                                     Deadline deadline) {
  auto opened = co_await LiveSandbox::open(std::move(enclosure), Greeting::takeover, deadline);
  if (!opened) co_return fail(std::move(opened).error());
  std::shared_ptr<LiveSandbox> sandbox = std::move(*opened);
  auto step = [sandbox, limits, deadline]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"pool.recover.reset">());
    auto clean = co_await sandbox->reset(deadline);
    if (!clean) co_return fail(std::move(clean).error());
    auto limited = co_await sandbox->set_limits(limits);
    co_return limited;
  };
  auto kept = co_await keep_if(sandbox, std::move(step));
  co_return kept;
}

Task<> destroy_for_sure(std::shared_ptr<LiveSandbox> sandbox) {
  auto work = [sandbox] { return sandbox->destroy(Deadline::after(destroy_patience)); };
  auto destroyed = co_await attempted("destroy " + sandbox->spec().name, std::move(work));
  if (!destroyed) log::error("sandbox {}: {}", sandbox->spec().name, destroyed.error().message);
}

}  // namespace cloche::pool
