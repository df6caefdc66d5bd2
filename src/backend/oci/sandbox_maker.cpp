#include "backend/oci/sandbox_maker.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <optional>
#include <thread>

#include "backend/kernel/gvisor_needs.hpp"
#include "backend/oci/bundle.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "backend/oci/root/root_layout.hpp"
#include "backend/oci/root/root_skeleton.hpp"
#include "backend/oci/root/user_namespace.hpp"
#include "backend/oci/root/volume_points.hpp"
#include "backend/oci/root/volumes.hpp"
#include "core/async/exceptions.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "process/descriptors.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

// For taking back, whatever the caller's own deadline was.
constexpr auto time_to_undo = 30s;
constexpr auto between_tries = 100ms;

// While a runtime starts it needs more than a small sandbox has, and time that a small share would stretch to seconds.
// Nothing of a caller runs yet.
CgroupLimits limits_while_starting(const CgroupLimits& final_limits) {
  return {std::max(final_limits.memory, mib(256)), 0, std::max<std::uint32_t>(final_limits.pids, 512)};
}

// Takes back what was made unless all went well.
class Undo {
 public:
  Undo(Host& host, std::string id) : host_(host), id_(std::move(id)) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (!kept_) remove_or_note(host_, id_, Deadline::after(time_to_undo));
  }
  void keep() { kept_ = true; }

 private:
  Host& host_;
  std::string id_;
  bool kept_ = false;
};

Status make_sandbox_directory(const Host& host, const SandboxFiles& files) {
  // The instance's last sandbox may be taking the directories with it at this moment.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Status parents = host.make_instance_directories();
    if (!parents && parents.error().code != ErrorCode::not_found) return parents;
    if (::mkdir(files.directory.c_str(), 0700) == 0) return {};
    if (errno != ENOENT) break;
  }
  return fail_errno("create directory " + files.directory);
}

// The host's side of one sandbox, put together step by step.
class Making {
 public:
  Making(Host& host, const SandboxSpec& spec, const Runtime& runtime, AgentTask task, const CancelToken& token,
         std::vector<MountedVolume> volumes)
      : host_(host), runtime_(runtime), task_(task), watch_(token), volumes_(std::move(volumes)) {
    record_.id.value = "s-" + random_hex(10);
    record_.owner = host.options().instance.value;
    record_.spec = spec;
    record_.runtime = runtime.name;
    record_.runtime_kind = std::string(runtime.traits->name);
    for (const MountedVolume& each : volumes_) record_.volumes.push_back(each.volume);
    record_.keeper = identify_self();
    record_.boot = host.boot();
    files_ = host.files_of(record_.id.value);
  }

  Result<MadeSandbox> run() {
    if (!host_.cgroups()) return fail(host_.cgroups().error());
    if (!volumes_.empty() && runtime_.traits->kernel == Kernel::shared) {
      return fail(ErrorCode::unavailable, "the runtime is " + runtime_.name + " now, which gets volumes later; retry");
    }
    CLOCHE_TRY(const CgroupLimits limits, cgroup_limits_for(record_.spec.limits, *runtime_.traits));
    record_.redirects = can_redirect();
    CLOCHE_TRY(BundleParts parts, prepare_root());
    CLOCHE_CHECK(watch_.check("create sandbox"));

    Undo undo(host_, record_.id.value);
    // The directory alone is already a journal: one without a record is removed, with everything that has its name.
    CLOCHE_CHECK(make_sandbox_directory(host_, files_));
    fault_point<"backend.make.directory">();
    CLOCHE_CHECK(lend_gpus(parts));
    fault_point<"backend.make.gpus">();
    CLOCHE_TRY(parts.uids, host_.uids().claim(record_.id.value));
    fault_point<"backend.make.uids">();
    record_.uid_slot = parts.uids.slot;
    CLOCHE_CHECK(write_record(files_.record, record_));
    if (!volumes_.empty()) CLOCHE_CHECK(prepare_volumes(parts.uids));
    CLOCHE_CHECK(make_disk(parts.uids));
    CLOCHE_TRY(const std::optional<UserNamespace> users, make_user_namespace(parts));
    CLOCHE_CHECK(write_file(files_.config, boost::json::serialize(make_bundle(record_.spec, parts)), 0600));
    CLOCHE_CHECK(make_fifos(files_.to_agent, files_.from_agent));

    const Cgroup cgroup = host_.cgroups()->at(record_.id.value);
    CLOCHE_CHECK(cgroup.create());
    fault_point<"backend.make.cgroup">();
    if (!record_.gpus.empty()) CLOCHE_CHECK(cgroup.limit_devices(device_rules(record_.gpus.nodes)));
    CLOCHE_CHECK(cgroup.set_limits(limits_while_starting(limits)));
    CLOCHE_CHECK(watch_.check("create sandbox"));
    MadeSandbox made;
    CLOCHE_TRY(made.ends, start(cgroup));
    fault_point<"backend.make.started">();
    if (!volumes_.empty()) fault_point<"backend.volumes.attached">();
    if (record_.redirects) CLOCHE_CHECK(host_.egress().prepare(record_.first.pid, watch_.deadline()));
    CLOCHE_CHECK(cgroup.set_limits(limits));
    cgroup.restart_peak();
    record_.state = SandboxRecord::State::running;
    CLOCHE_CHECK(write_record(files_.record, record_));
    CLOCHE_CHECK(watch_.check("create sandbox"));
    undo.keep();
    made.record = std::move(record_);
    return made;
  }

 private:
  // Everything that sandboxes share: unpacked image, skeleton, the agent's copy. Nothing of it is taken back.
  Result<BundleParts> prepare_root() {
    CLOCHE_CHECK(host_.make_shared_directories());
    const SandboxSpec& spec = record_.spec;
    CLOCHE_TRY(const auto agent, host_.agent().ensure());
    std::string image_root;
    if (!spec.image.empty()) {
      CLOCHE_TRY(image_root, host_.images().root_of(spec.image, watch_));
    }
    CLOCHE_CHECK(find_gpus());
    std::vector<Mount> wanted = spec.mounts;
    if (!spec.gpus.empty()) std::ranges::copy(driver_mounts(gpus_), std::back_inserter(wanted));
    CLOCHE_TRY(const auto mounts, look_at_mounts(wanted));
    const bool lacks_flags = runtime_.stat_flags == Runtime::StatFlags::not_no_automount;
    const Help help = lacks_flags ? Help::with_stat : Help::none;
    const Names names = record_.redirects ? Names::answered_by_agent : Names::unanswered;
    CLOCHE_TRY(const RootPlan plan, plan_root(spec, image_root, agent.path, mounts, help, names));
    CLOCHE_TRY(const std::string skeleton, ensure_skeleton(host_.roots_directory(), plan));

    CLOCHE_TRY(std::string mountinfo, read_file("/proc/self/mountinfo"));
    Stage stage(host_.stage_directory(), std::move(mountinfo));
    if (const CgroupMount* v2 = host_.cgroup_layout().v2(); v2 != nullptr && host_.cgroup_layout().kind() == "hybrid" &&
                                                            runtime_.traits->hybrid == RuntimeTraits::Hybrid::refuses) {
      stage.hide(v2->mount_point);
    }
    points_ = points_for(spec, volumes_, mounts);
    const bool covers = !points_.cover.empty();
    BundleParts parts;
    CLOCHE_TRY(parts.root, covers ? stage.show_own_root(skeleton) : stage.show_root(skeleton));
    for (const RootBind& bind : plan.binds) {
      // Something of the image's own, which volumes cover. Two mounts at one place have no certain order.
      if (!points_.named.empty() && bind.target == volumes_directory) continue;
      CLOCHE_TRY(BundleBind shown, show(stage, bind.source, bind.target, bind.kind, Access::read_only));
      parts.root_binds.push_back(std::move(shown));
    }
    // A sudo of the image's own cannot work: its file belongs to no user of the sandbox.
    const std::string sudo = spec.root ? place_of_program(image_root, "sudo") : std::string();
    if (!sudo.empty()) {
      CLOCHE_TRY(BundleBind shown, show(stage, agent.path, sudo, PathKind::file, Access::read_only));
      parts.root_binds.push_back(std::move(shown));
    }
    for (const SourcedMount& each : mounts) {
      CLOCHE_TRY(BundleBind shown, show(stage, each.mount.source, each.mount.target, each.kind, each.mount.access));
      parts.mounts.push_back(std::move(shown));
    }
    if (spec.workspace == WorkspaceKind::disk) {
      CLOCHE_TRY(const std::string shown, stage.show_mount(disk_));
      parts.disk = disk_binds(spec, shown);
    }
    CLOCHE_CHECK(show_volumes(stage, image_root, parts));
    private_mounts_ = std::move(stage).take_steps();
    parts.agent_arguments = {task_ == AgentTask::serve ? "init" : "version"};
    std::ranges::copy(points_.opened, std::back_inserter(parts.agent_arguments));
    parts.seccomp = runtime_.traits->seccomp;
    parts.proc = runtime_.traits->proc;
    if (runtime_.traits->cgroups == RuntimeTraits::Cgroups::given_ours) {
      parts.cgroup_path = host_.cgroups()->path_for_runtime(record_.id.value);
    }
    return parts;
  }

  // Otherwise programs need the proxy. `doctor` says why; gVisor has a network of its own.
  bool can_redirect() {
    return record_.spec.egress && task_ == AgentTask::serve && runtime_.traits->kernel == Kernel::shared &&
           host_.egress().probe();
  }

  static std::vector<BundleBind> disk_binds(const SandboxSpec& spec, const std::string& shown) {
    std::vector<BundleBind> binds;
    binds.push_back({shown + "/" + disk::work_directory, spec.work_dir, Access::read_write});
    const std::string home = home_of(spec);
    if (home != spec.work_dir) binds.push_back({shown + "/" + disk::home_directory, home, Access::read_write});
    return binds;
  }

  // Only steps: the mounts are put in place when the runtime starts.
  Status show_volumes(Stage& stage, const std::string& image_root, BundleParts& parts) const {
    if (!points_.cover.empty()) stage.cover(parts.root + points_.cover);
    for (const VolumePoints::Point& point : points_.in_cover) stage.make(parts.root + point.path, point.kind);
    if (!points_.named.empty()) {
      CLOCHE_CHECK(check_volumes_directory(image_root));
      CLOCHE_TRY(std::string shown, stage.show_empty());
      for (const std::string& name : points_.named) stage.make(shown + "/" + name, PathKind::directory);
      parts.volumes.push_back({std::move(shown), volumes_directory, Access::read_only});
    }
    for (const MountedVolume& each : volumes_) {
      CLOCHE_TRY(std::string shown, stage.show_mount(each.mount));
      parts.volumes.push_back({std::move(shown), each.volume.target, each.volume.access});
    }
    return {};
  }

  // A link would lead to another place of the image.
  static Status check_volumes_directory(const std::string& image_root) {
    struct stat about{};
    if (image_root.empty() || ::lstat((image_root + volumes_directory).c_str(), &about) != 0) return {};
    if (S_ISDIR(about.st_mode)) return {};
    return fail(ErrorCode::unsupported, "the image has " + std::string(volumes_directory) +
                                            ", which is not a directory, so volumes cannot be there");
  }

  Status prepare_volumes(UidRange uids) const {
    fault_point<"backend.volumes.journalled">();
    const SandboxSpec& spec = record_.spec;
    const VolumeUsers users{.uid = uids.first() + uid_of(spec), .gid = uids.first() + spec.gid, .server = uids.first()};
    return map_owners(users, volumes_);
  }

  // From the start of the runtime on, the sandbox itself keeps it.
  Status make_disk(UidRange uids) {
    const SandboxSpec& spec = record_.spec;
    if (spec.workspace != WorkspaceKind::disk) return {};
    const disk::Owner owner{uids.first() + uid_of(spec), uids.first() + spec.gid};
    CLOCHE_TRY(disk_, host_.disks().make(record_.id.value, spec.disk_size, owner, watch_));
    for (const std::string& path : points_.on_disk) {
      CLOCHE_CHECK(disk::add_directory(disk_.get(), path.c_str(), owner));
    }
    return {};
  }

  Status find_gpus() {
    if (record_.spec.gpus.empty()) return {};
    CLOCHE_CHECK(check_gpu_support(runtime_));
    gpus_ = host_.gpus().find();
    return {};
  }

  Status lend_gpus(BundleParts& parts) {
    CLOCHE_TRY(const auto lent, host_.gpus().lending().lend(gpus_, record_.spec.gpus, record_.id.value));
    record_.gpus = SandboxGpus::of(gpus_, lent);
    parts.devices = record_.gpus.nodes;
    parts.devices_are = runtime_.traits->devices;
    return {};
  }

  // Open until the runtime has entered it.
  Result<std::optional<UserNamespace>> make_user_namespace(BundleParts& parts) const {
    if (runtime_.traits->user_namespace == RuntimeTraits::UserNamespace::made) return std::optional<UserNamespace>();
    CLOCHE_TRY(UserNamespace made, UserNamespace::make(parts.uids));
    parts.user_namespace = made.path();
    return std::optional(std::move(made));
  }

  static Result<BundleBind> show(Stage& stage, const std::string& source, const std::string& target, PathKind kind,
                                 Access access) {
    CLOCHE_TRY(const bool noexec, is_noexec(source));
    CLOCHE_TRY(std::string shown, stage.show(source, kind, access));
    using Execution = BundleBind::Execution;
    return BundleBind{std::move(shown), target, access, noexec ? Execution::forbidden : Execution::allowed};
  }

  Result<FifoEnds> start(const Cgroup& cgroup) {
    CLOCHE_TRY(FifoEnds server, open_server_ends(files_.to_agent, files_.from_agent));
    CLOCHE_TRY(const FifoEnds agent, open_agent_ends(files_.to_agent, files_.from_agent));
    CLOCHE_TRY(const CgroupEntrance entrance, cgroup.open_entrance());
    CLOCHE_TRY(const UniqueFd errors, process::make_bounded_memory(kib(64)));
    RuntimeStart start;
    start.id = record_.id.value;
    start.bundle = files_.directory;
    start.notes = files_.notes;
    start.pid_file = files_.pid_file;
    start.in = agent.to_agent.get();
    start.out = agent.from_agent.get();
    start.err = errors.get();
    start.entrance = &entrance;
    start.private_mounts = std::move(private_mounts_);
    start.uses_gpus = !record_.gpus.empty();
    // A runtime needs CAP_SYS_RESOURCE to set limits in a user namespace that is not its own; they are inherited
    // instead.
    if (runtime_.traits->user_namespace == RuntimeTraits::UserNamespace::entered) {
      start.limits.push_back({RLIMIT_CORE, 0});
      start.limits.push_back({RLIMIT_NOFILE, agent_open_files(record_.spec.limits)});
    }
    CLOCHE_TRY(const pid_t pid, start_sandbox(runtime_, std::move(start), watch_.deadline()));
    CLOCHE_CHECK(look_at_first_process(cgroup, pid, errors.get()));
    if (task_ == AgentTask::serve) CLOCHE_CHECK(settle_project_ids(pid));
    return server;
  }

  // Every process in a user namespace may write its map of project ids, once. If a program wrote it, no reset could
  // undo that; so it is written before there is a program.
  static Status settle_project_ids(pid_t pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/projid_map";
    const UniqueFd map(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    constexpr std::string_view none_but_the_first = "0 0 1\n";
    if (map && ::write(map.get(), none_but_the_first.data(), none_but_the_first.size()) > 0) return {};
    // Written already, as the host's own is; or a process that has ended, which is found out elsewhere.
    if (errno == EPERM || errno == ENOENT || errno == ESRCH) return {};
    return fail_errno("write " + path);
  }

  // Trusts no report: process 1 must be alive and in our cgroups.
  Status look_at_first_process(const Cgroup& cgroup, pid_t pid, int errors) {
    const auto process = identify(pid);
    if (process) {
      CLOCHE_TRY(const bool held, cgroup.holds(pid));
      record_.first = *process;
      if (held) return record_.gpus.empty() ? Status{} : cgroup.check_devices(pid);
      if (is_alive(*process)) {
        kill_process(*process);
        return fail(
            ErrorCode::unsupported,
            record_.runtime + " moved the sandbox's first process out of its cgroup, so the limits would not apply");
      }
    }
    if (task_ == AgentTask::answer) return {};
    return fail(ErrorCode::sandbox_lost, "the agent ended immediately: " + process::read_bounded_memory(errors));
  }

  Host& host_;
  const Runtime& runtime_;
  AgentTask task_;
  CancelToken watch_;
  SandboxRecord record_;
  SandboxFiles files_;
  std::vector<MountStep> private_mounts_;
  gpu::Inventory gpus_;
  UniqueFd disk_;
  std::vector<MountedVolume> volumes_;
  VolumePoints points_;
};

// A quarter of what the host has, for one sandbox.
std::uint32_t share_of_process_numbers() {
  constexpr std::uint32_t least = 8'192;
  const auto text = read_file("/proc/sys/kernel/pid_max");
  std::uint32_t most = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), most);
  return std::max(least, most / 4);
}

// The uids of a sandbox whose journal does not say which they are.
Status release_unknown_uids(const Host& host, const std::string& id) {
  CLOCHE_TRY(const auto claims, host.uids().claims());
  for (const auto& claim : claims) {
    if (claim.sandbox == id) CLOCHE_CHECK(host.uids().release(claim.range, id));
  }
  return {};
}

}  // namespace

Result<CgroupLimits> cgroup_limits_for(const Limits& limits, const RuntimeTraits& traits) {
  if (limits.memory < traits.least_memory) {
    return fail(ErrorCode::unsupported, "the runtime " + std::string(traits.name) + " requires a memory limit of " +
                                            to_string(traits.least_memory) +
                                            " or more, which includes its own kernel; the given limit is " +
                                            to_string(limits.memory));
  }
  const bool inside = traits.processes == RuntimeTraits::Processes::counted_inside;
  const std::uint32_t pids = inside ? gvisor_host_tasks(limits.pids, share_of_process_numbers()) : limits.pids;
  const Bytes memory = traits.kernel == Kernel::own ? gvisor_host_memory(limits.memory) : limits.memory;
  return CgroupLimits{memory, limits.cpus, pids};
}

Result<MadeSandbox> make_sandbox(Host& host, const SandboxSpec& spec, const Runtime& runtime, AgentTask task,
                                 const CancelToken& token, std::vector<MountedVolume> volumes) {
  return Making(host, spec, runtime, task, token, std::move(volumes)).run();
}

namespace {

Status try_to_remove(Host& host, const std::string& id, Deadline deadline) {
  const SandboxFiles files = host.files_of(id);
  auto record = read_record(files.record);
  if (record) {
    // Once: the age of the file shows how long the removal has been failing.
    if (record->state != SandboxRecord::State::destroying) {
      record->state = SandboxRecord::State::destroying;
      (void)write_record(files.record, *record);
    }
    fault_point<"backend.remove.journalled">();
    if (record->boot == host.boot()) kill_process(record->first);
  }
  CLOCHE_CHECK(fallible_point<"backend.remove.kill">(deadline));
  if (host.cgroups()) {
    const Cgroup cgroup = host.cgroups()->at(id);
    CLOCHE_CHECK(cgroup.kill_all(deadline));
    fault_point<"backend.remove.killed">();
    CLOCHE_CHECK(cgroup.remove(deadline));
    fault_point<"backend.remove.cgroup">();
  }
  if (record && record->uid_slot) {
    CLOCHE_CHECK(host.uids().release(UidRange{*record->uid_slot}, id));
  } else {
    CLOCHE_CHECK(release_unknown_uids(host, id));
  }
  fault_point<"backend.remove.uids">();
  // Only now can no process have one open.
  CLOCHE_CHECK(host.gpus().lending().take_back(id));
  host.disks().release(id);
  // The journal goes last: until then `recover` finds what is left.
  CLOCHE_CHECK(remove_tree(files.directory));
  if (::rmdir(host.sandboxes_directory().c_str()) == 0) ::rmdir(host.instance_directory().c_str());
  return {};
}

}  // namespace

Status remove_sandbox(Host& host, const std::string& id, Deadline deadline) {
  for (;;) {
    Status removed = try_to_remove(host, id, deadline);
    // Of the descriptors that the process is short of now, some may be given back soon.
    const bool is_short = !removed && removed.error().code == ErrorCode::unavailable;
    if (!is_short || deadline.passed()) return removed;
    std::this_thread::sleep_for(between_tries);
  }
}

void remove_or_note(Host& host, const std::string& id, Deadline deadline) {
  Status removed;
  try {
    removed = remove_sandbox(host, id, deadline);
  } catch (...) {
    removed = fail(to_error("remove sandbox " + id, std::current_exception()));
  }
  if (removed) {
    host.unremoved().removed(id);
    return;
  }
  log::error("cannot remove sandbox {}; retrying later: {}", id, removed.error().message);
  host.unremoved().failed(id, removed.error().message, Deadline::Clock::now());
}

}  // namespace cloche::oci
