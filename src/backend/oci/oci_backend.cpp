#include "backend/oci/oci_backend.hpp"

#include <algorithm>

#include "backend/oci/belongings.hpp"
#include "backend/oci/examine.hpp"
#include "backend/oci/host.hpp"
#include "backend/oci/oci_enclosure.hpp"
#include "backend/oci/recovery.hpp"
#include "backend/oci/runtime/probe.hpp"
#include "backend/oci/sandbox_maker.hpp"
#include "backend/oci/uncancelled.hpp"
#include "core/utf8.hpp"

namespace cloche {

namespace {

using namespace std::chrono_literals;
using oci::Host;
using oci::MadeSandbox;

// For one sandbox that has resisted before: a thread waits that long for it, every now and then.
constexpr auto retry_timeout = 5s;

Status validate_options(const OciOptions& options) {
  const std::string& instance = options.instance.value;
  const bool good = !instance.empty() && instance.size() <= 64 && instance.front() != '.' && instance.front() != '-' &&
                    std::ranges::all_of(instance, [](unsigned char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                             c == '_' || c == '.';
                    });
  // These are files and directories of ours beside the instances'.
  if (!good || instance == "uids" || instance == "gpus" || instance == "stage" || instance == "probe.json") {
    return fail(ErrorCode::invalid_argument,
                "'" + instance + "' is not a valid instance id: letters, digits, '-', '_' and '.', at most 64");
  }
  for (const auto* path :
       {&options.state_dir, &options.run_dir, &options.uid_dir, &options.gpu_dir, &options.agent_path}) {
    if (!is_clean_absolute_path(*path) || *path == "/" || !is_utf8(*path)) {
      return fail(ErrorCode::invalid_argument,
                  "'" + *path + "' is not an absolute path without '..', '.' or empty parts");
    }
  }
  return {};
}

// A bundle is JSON, which has no other characters.
Status validate_text(const SandboxSpec& spec) {
  const auto check = [](std::string_view what, const std::string& text) -> Status {
    if (is_utf8(text)) return {};
    return fail(ErrorCode::invalid_argument, std::string(what) + " is not valid UTF-8");
  };
  CLOCHE_CHECK(check("work_dir", spec.work_dir));
  CLOCHE_CHECK(check("image", spec.image));
  CLOCHE_CHECK(check("runtime", spec.runtime));
  for (const Mount& mount : spec.mounts) {
    CLOCHE_CHECK(check("the source of a mount", mount.source));
    CLOCHE_CHECK(check("the target of a mount", mount.target));
  }
  for (const auto& [key, value] : spec.labels) {
    CLOCHE_CHECK(check("a label", key));
    CLOCHE_CHECK(check("a label", value));
  }
  return {};
}

Status validate_text(const std::vector<MountedVolume>& volumes) {
  for (const MountedVolume& each : volumes) {
    if (is_utf8(each.volume.target)) continue;
    return fail(ErrorCode::invalid_argument, "the target of a volume is not valid UTF-8");
  }
  return {};
}

Result<MadeSandbox> make(Host& host, const SandboxSpec& spec, std::vector<MountedVolume> volumes,
                         const CancelToken& token) {
  CLOCHE_TRY(const oci::Runtime runtime, oci::choose_runtime(host, spec.runtime, token));
  return oci::make_sandbox(host, spec, runtime, oci::AgentTask::serve, token, std::move(volumes));
}

class OciBackend final : public Backend {
 public:
  OciBackend(Executor executor, asio::thread_pool& pool, OciOptions options)
      : executor_(std::move(executor)), pool_(pool), host_(std::make_shared<Host>(std::move(options))) {}

  std::string_view name() const override { return "oci"; }

  Task<Result<std::unique_ptr<Enclosure>>> create(SandboxSpec spec, Deadline deadline) override {
    std::vector<MountedVolume> none;
    return create_with_volumes(std::move(spec), std::move(none), deadline);
  }

  // A kernel of its own has its own table of mounts, and sees nothing of one that the host adds later.
  Task<Result<VolumeTime>> volume_time(SandboxSpec spec, Deadline deadline) override {
    auto work = [host = host_, spec = std::move(spec), token = CancelToken(deadline)]() -> Result<VolumeTime> {
      CLOCHE_TRY(const oci::Runtime runtime, oci::choose_runtime(*host, spec.runtime, token));
      return runtime.traits->kernel == Kernel::own ? VolumeTime::at_creation : VolumeTime::while_running;
    };
    auto known = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    co_return known;
  }

  Task<Result<std::unique_ptr<Enclosure>>> create_with_volumes(SandboxSpec spec, std::vector<MountedVolume> volumes,
                                                               Deadline deadline) override {
    CLOCHE_CO_CHECK(at_create(validate(spec)));
    CLOCHE_CO_CHECK(at_create(require_sizes(spec.limits)));
    CLOCHE_CO_CHECK(at_create(validate_text(spec)));
    CLOCHE_CO_CHECK(at_create(validate_text(volumes)));
    // A cancellation stops the work at its next step; the work takes back what it made, and is waited for.
    const CancelToken token(deadline);
    auto cancellation = co_await asio::this_coro::cancellation_state;
    auto slot = cancellation.slot();
    if (slot.is_connected()) slot.assign([token](asio::cancellation_type) { token.cancel(); });
    if (cancellation.cancelled() != asio::cancellation_type::none) token.cancel();
    auto work = [host = host_, spec = std::move(spec), volumes = std::move(volumes),
                 token]() mutable -> Result<MadeSandbox> { return make(*host, spec, std::move(volumes), token); };
    auto made = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    if (slot.is_connected()) slot.clear();
    if (!made) co_return fail(std::move(made).error().at("create sandbox"));
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      auto undo = [host = host_, id = made->record.id.value]() -> Status {
        oci::remove_or_note(*host, id, Deadline::after(30s));
        return {};
      };
      [[maybe_unused]] auto undone = co_await oci::run_blocking_to_the_end(pool_, std::move(undo));
      co_return fail(ErrorCode::cancelled, "create sandbox: cancelled");
    }
    co_return oci::create_oci_enclosure(executor_, pool_, host_, std::move(*made));
  }

  Task<Result<std::vector<std::unique_ptr<Enclosure>>>> recover(Deadline deadline) override {
    auto work = [host = host_, token = CancelToken(deadline)]() -> Result<std::vector<MadeSandbox>> {
      return oci::recover_sandboxes(*host, token);
    };
    auto found = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    if (!found) co_return fail(std::move(found).error());
    std::vector<std::unique_ptr<Enclosure>> enclosures;
    for (MadeSandbox& each : *found)
      enclosures.push_back(oci::create_oci_enclosure(executor_, pool_, host_, std::move(each)));
    co_return enclosures;
  }

  std::vector<Unremoved> unremoved() const override { return host_->unremoved().all(); }

  Task<> retry_removals() override {
    for (const std::string& id : host_->unremoved().due(Deadline::Clock::now())) {
      auto work = [host = host_, id]() -> Status {
        oci::remove_or_note(*host, id, Deadline::after(retry_timeout));
        return {};
      };
      [[maybe_unused]] auto tried = co_await run_blocking(pool_, std::move(work));
    }
  }

  Task<std::vector<Finding>> examine(Deadline deadline) override {
    auto work = [host = host_, token = CancelToken(deadline)]() -> Result<std::vector<Finding>> {
      return oci::examine_host(*host, token);
    };
    auto findings = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    if (findings) co_return std::move(*findings);
    std::vector<Finding> failed;
    failed.push_back({"examination", Finding::Level::missing, findings.error().message, "try again"});
    co_return failed;
  }

  Task<Status> prove(SandboxSpec spec, Deadline deadline) override {
    CLOCHE_CO_CHECK(validate(spec));
    CLOCHE_CO_CHECK(require_sizes(spec.limits));
    auto work = [host = host_, spec = std::move(spec), token = CancelToken(deadline)]() -> Status {
      return oci::prove_sandbox(*host, spec, token);
    };
    auto proved = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    co_return proved;
  }

  Task<Status> remove_former(std::vector<std::string> names, Deadline deadline) override {
    auto work = [host = host_, names = std::move(names), token = CancelToken(deadline)]() -> Status {
      return oci::remove_former(*host, names, token);
    };
    auto removed = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    co_return removed;
  }

  Task<Result<std::vector<Belonging>>> belongings(Deadline) override {
    auto work = [host = host_]() -> Result<std::vector<Belonging>> { return oci::find_belongings(*host); };
    auto found = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    co_return found;
  }

  Task<Status> remove_belongings(Deadline deadline) override {
    auto work = [host = host_, token = CancelToken(deadline)]() -> Status {
      return oci::remove_belongings(*host, token);
    };
    auto removed = co_await oci::run_blocking_to_the_end(pool_, std::move(work));
    co_return removed;
  }

 private:
  static Status at_create(Status status) {
    if (status) return status;
    return fail(std::move(status).error().at("create sandbox"));
  }

  Executor executor_;
  asio::thread_pool& pool_;
  std::shared_ptr<Host> host_;  // shared with work that may end after this object
};

}  // namespace

Result<std::unique_ptr<Backend>> create_oci_backend(Executor executor, asio::thread_pool& pool, OciOptions options) {
  CLOCHE_CHECK(validate_options(options));
  return std::make_unique<OciBackend>(std::move(executor), pool, std::move(options));
}

}  // namespace cloche
