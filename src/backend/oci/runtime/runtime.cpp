#include "backend/oci/runtime/runtime.hpp"

#include <algorithm>
#include <charconv>

#include "backend/oci/files.hpp"
#include "process/programs.hpp"

namespace cloche::oci {

namespace {

// gVisor's flags differ from version to version; without one of these a wall would be missing.
Status set_runsc_flags(Runtime& runtime, Deadline deadline) {
  const std::string& program = runtime.program;
  Command command;
  command.program = program;
  command.arguments = {"flags"};
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  for (const char* needed : {"-ignore-cgroups", "-oci-seccomp"}) {
    if (end.output.find(needed) == end.output.npos) {
      return fail(ErrorCode::unsupported, program + " has no flag " + needed + "; install a newer gVisor");
    }
  }
  // Not kvm: it hangs if virtualisation is not available.
  const bool has_systrap = end.output.find("systrap") != end.output.npos;
  std::vector<std::string> flags{has_systrap ? "--platform=systrap" : "--platform=ptrace", "--network=none",
                                 "--ignore-cgroups", "--oci-seccomp"};
  // Without it, newer versions bind a network namespace into their state directory and leave that mount behind.
  if (end.output.find("-gofer-network-namespace") != end.output.npos) {
    flags.emplace_back("--gofer-network-namespace=new");
  }
  // Nothing of a disk or a volume is kept in gVisor's own memory, which goes with the sandbox. The default, where it
  // can be chosen.
  if (end.output.find("-file-access-mounts") != end.output.npos) flags.emplace_back("--file-access-mounts=shared");
  runtime.flags = std::move(flags);
  // gVisor's kernel passes calls of NVIDIA's driver on to the host's.
  if (end.output.find("-nvproxy") != end.output.npos) runtime.gpu_flags = {{"--nvproxy"}};
  return {};
}

// The output of a runtime as part of an error: one line, no control characters.
std::string readable(std::string_view output) {
  constexpr std::size_t most = 600;
  std::string text;
  for (const char c : output.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < ' ' || byte == 0x7f ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "no output" : text;
}

Result<std::string> version_of(const std::string& program, Deadline deadline) {
  Command command;
  command.program = program;
  command.arguments = {"--version"};
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  return readable(std::string_view(end.output).substr(0, end.output.find('\n')));
}

// Asked of the program itself: `runsc version release-20260905.0`.
Result<const RuntimeTraits*> kind_of_program(const std::string& program, Deadline deadline) {
  CLOCHE_TRY(const std::string printed, version_of(program, deadline));
  const RuntimeTraits* traits = find_runtime(std::string_view(printed).substr(0, printed.find(' ')));
  if (traits != nullptr) return traits;
  return fail(ErrorCode::unsupported, program + " is not a supported runtime: `--version` prints '" + printed + "'");
}

}  // namespace

const std::vector<RuntimeTraits>& known_runtimes() {
  static const std::vector<RuntimeTraits> all = {
      {
          .name = "runsc",
          .package = "runsc",
          .seccomp = SeccompDialect::gvisor,
          .proc = BundleParts::ProcOptions::plain,  // gVisor's /proc knows no hidepid
          .user_namespace = RuntimeTraits::UserNamespace::made,
          .processes = RuntimeTraits::Processes::counted_inside,
          .devices = BundleParts::Devices::listed,
          .least_memory = mib(32),
          .kernel = Kernel::own,
      },
      {
          .name = "crun",
          .package = "crun",
          .hybrid = RuntimeTraits::Hybrid::refuses,
      },
      {
          .name = "runc",
          .package = "runc",
          .cgroups = RuntimeTraits::Cgroups::given_ours,
      },
  };
  return all;
}

const RuntimeTraits* find_runtime(std::string_view kind) {
  const auto& all = known_runtimes();
  const auto found = std::ranges::find(all, kind, &RuntimeTraits::name);
  return found == all.end() ? nullptr : &*found;
}

RuntimeCatalog::RuntimeCatalog(std::map<std::string, std::string> programs) : programs_(std::move(programs)) {}

std::string RuntimeCatalog::known_names() const {
  std::string names = "auto";
  for (const RuntimeTraits& traits : known_runtimes()) names += ", " + std::string(traits.name);
  for (const auto& [name, path] : programs_) {
    if (find_runtime(name) == nullptr) names += ", " + name;
  }
  return names;
}

Result<std::string> RuntimeCatalog::locate(std::string_view name) const {
  const auto configured = programs_.find(std::string(name));
  if (configured != programs_.end() || name.starts_with('/')) {
    const std::string path = configured != programs_.end() ? configured->second : std::string(name);
    if (process::is_program(path)) return path;
    return fail(ErrorCode::unsupported, "the runtime " + std::string(name) + " is not installed: " + path +
                                            " is not an executable file; correct `runtimes` in the configuration");
  }
  const RuntimeTraits* traits = find_runtime(name);
  if (traits == nullptr) {
    return fail(ErrorCode::unsupported, "unknown runtime '" + std::string(name) +
                                            "'; known runtimes: " + known_names() + " and absolute paths");
  }
  std::string searched;
  for (const std::string& directory : process::search_directories()) {
    std::string path = directory + "/" + std::string(name);
    if (process::is_program(path)) return path;
    searched += (searched.empty() ? "" : ", ") + directory;
  }
  return fail(ErrorCode::unsupported, "the runtime " + std::string(name) + " is not installed; searched " + searched +
                                          "; on Debian: apt-get install " + std::string(traits->package) +
                                          ", or set its path under `runtimes` in the configuration");
}

Result<Runtime> RuntimeCatalog::find(std::string_view name, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (const auto known = found_.find(name); known != found_.end()) return known->second;
  Runtime runtime;
  runtime.name = std::string(name);
  CLOCHE_TRY(runtime.program, locate(name));
  runtime.traits = find_runtime(name);
  if (runtime.traits == nullptr) {
    CLOCHE_TRY(runtime.traits, kind_of_program(runtime.program, deadline));
  }
  if (runtime.traits->kernel == Kernel::own) runtime.stat_flags = Runtime::StatFlags::not_no_automount;
  if (runtime.traits->kernel == Kernel::shared) runtime.gpu_flags.emplace();
  if (runtime.traits->name == "crun") runtime.flags = {"--cgroup-manager=disabled"};
  if (runtime.traits->name == "runsc") CLOCHE_CHECK(set_runsc_flags(runtime, deadline));
  found_.emplace(name, runtime);
  return runtime;
}

Status check_gpu_support(const Runtime& runtime) {
  if (runtime.gpu_flags) return {};
  return fail(ErrorCode::unsupported,
              "the runtime " + runtime.name + " cannot make sandboxes with GPUs: " + runtime.program +
                  " has no flag -nvproxy; install a newer gVisor, or set `runtime: crun` in the profile, which then "
                  "shares the host's kernel");
}

Result<pid_t> start_sandbox(const Runtime& runtime, RuntimeStart start, Deadline deadline) {
  Command command;
  command.program = runtime.program;
  command.arguments = {"--root", start.notes};
  command.arguments.insert(command.arguments.end(), runtime.flags.begin(), runtime.flags.end());
  if (start.uses_gpus && runtime.gpu_flags) {
    command.arguments.insert(command.arguments.end(), runtime.gpu_flags->begin(), runtime.gpu_flags->end());
  }
  for (const auto& argument : {std::string("run"), std::string("--detach"), std::string("--bundle"), start.bundle,
                               std::string("--pid-file"), start.pid_file, start.id}) {
    command.arguments.push_back(argument);
  }
  command.in = start.in;
  command.out = start.out;
  command.err = start.err;
  command.entrance = start.entrance;
  command.private_mounts = std::move(start.private_mounts);
  command.limits = std::move(start.limits);
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  const std::string& name = runtime.name;
  if (end.exit_code != 0) {
    return fail(ErrorCode::unavailable, name + " could not start the sandbox (exit code " +
                                            std::to_string(end.exit_code) + "): " + readable(end.output));
  }
  CLOCHE_TRY(const std::string text, read_file(start.pid_file));
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  if (pid <= 1) return fail(ErrorCode::internal, name + " wrote an invalid process id: '" + readable(text) + "'");
  return pid;
}

Result<std::string> runtime_version(const Runtime& runtime, Deadline deadline) {
  return version_of(runtime.program, deadline);
}

}  // namespace cloche::oci
