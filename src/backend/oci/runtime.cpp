#include "backend/oci/runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "backend/oci/files.hpp"
#include "backend/oci/subprocess.hpp"

namespace cloche::oci {

namespace {

constexpr std::string_view search_path[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                            "/usr/bin",        "/sbin",          "/bin"};

std::string look_for(std::string_view name) {
  for (const std::string_view directory : search_path) {
    std::string path = std::string(directory) + "/" + std::string(name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string known_names() {
  std::string names = "auto";
  for (const RuntimeTraits& traits : known_runtimes()) names += ", " + std::string(traits.name);
  return names;
}

// gVisor's flags differ from version to version; without one of these a wall would be missing.
Result<std::vector<std::string>> runsc_flags(const std::string& program, Deadline deadline) {
  Command command;
  command.program = program;
  command.arguments = {"flags"};
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  for (const char* needed : {"-ignore-cgroups", "-oci-seccomp"}) {
    if (end.output.find(needed) == end.output.npos) {
      return fail(ErrorCode::unsupported, program + " has no flag " + needed + "; install a newer gVisor");
    }
  }
  // Not kvm: it hangs where there is no virtualisation to be had.
  const bool has_systrap = end.output.find("systrap") != end.output.npos;
  return std::vector<std::string>{has_systrap ? "--platform=systrap" : "--platform=ptrace", "--network=none",
                                  "--ignore-cgroups", "--oci-seccomp"};
}

// What a runtime printed, as part of an error: one line, no control characters.
std::string readable(std::string_view output) {
  constexpr std::size_t most = 600;
  std::string text;
  for (const char c : output.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < ' ' || byte == 0x7f ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "it printed nothing" : text;
}

}  // namespace

const std::vector<RuntimeTraits>& known_runtimes() {
  static const std::vector<RuntimeTraits> all = {
      {
          .name = "runsc",
          .package = "runsc",
          .seccomp = SeccompDialect::gvisor,
          .proc = BundleParts::ProcOptions::plain,  // gVisor's /proc knows no hidepid
          // gVisor's kernel and file server are processes of some 30 threads in the same cgroup, more when programs
          // block; with 64 in all it panics under a program that forks much.
          .stat_flags = RuntimeTraits::StatFlags::not_no_automount,
          .own_threads = 192,
          .least_memory = mib(32),
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

const RuntimeTraits* find_runtime(std::string_view name) {
  const auto& all = known_runtimes();
  const auto found = std::ranges::find(all, name, &RuntimeTraits::name);
  return found == all.end() ? nullptr : &*found;
}

RuntimeCatalog::RuntimeCatalog(std::map<std::string, std::string> programs) : programs_(std::move(programs)) {}

Result<Runtime> RuntimeCatalog::find(std::string_view name, Deadline deadline) {
  const RuntimeTraits* traits = find_runtime(name);
  if (traits == nullptr) {
    return fail(ErrorCode::unsupported, "unknown runtime '" + std::string(name) + "'; known are " + known_names());
  }
  const std::lock_guard lock(mutex_);
  if (const auto known = found_.find(name); known != found_.end()) return known->second;
  Runtime runtime;
  runtime.traits = traits;
  const auto given = programs_.find(std::string(name));
  runtime.program = given != programs_.end() ? given->second : look_for(name);
  if (runtime.program.empty() || ::access(runtime.program.c_str(), X_OK) != 0) {
    return fail(ErrorCode::unsupported, "the runtime " + std::string(name) + " is not installed" +
                                            (runtime.program.empty() ? "" : " at " + runtime.program) +
                                            "; on Debian: apt-get install " + std::string(traits->package));
  }
  if (name == "crun") runtime.flags = {"--cgroup-manager=disabled"};
  if (name == "runsc") {
    CLOCHE_TRY(runtime.flags, runsc_flags(runtime.program, deadline));
  }
  found_.emplace(name, runtime);
  return runtime;
}

Result<pid_t> start_sandbox(const Runtime& runtime, RuntimeStart start, Deadline deadline) {
  Command command;
  command.program = runtime.program;
  command.arguments = {"--root", start.notes};
  command.arguments.insert(command.arguments.end(), runtime.flags.begin(), runtime.flags.end());
  for (const auto& argument : {std::string("run"), std::string("--detach"), std::string("--bundle"), start.bundle,
                               std::string("--pid-file"), start.pid_file, start.id}) {
    command.arguments.push_back(argument);
  }
  command.in = start.in;
  command.out = start.out;
  command.err = start.err;
  command.entrance = start.entrance;
  command.private_mounts = std::move(start.private_mounts);
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  const std::string name(runtime.traits->name);
  if (end.exit_code != 0) {
    return fail(ErrorCode::unavailable, name + " could not start the sandbox (exit code " +
                                            std::to_string(end.exit_code) + "): " + readable(end.output));
  }
  CLOCHE_TRY(const std::string text, read_file(start.pid_file));
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  if (pid <= 1) return fail(ErrorCode::internal, name + " wrote no process number but '" + readable(text) + "'");
  return pid;
}

Result<std::string> runtime_version(const Runtime& runtime, Deadline deadline) {
  Command command;
  command.program = runtime.program;
  command.arguments = {"--version"};
  CLOCHE_TRY(const CommandEnd end, run_command(command, deadline));
  return readable(std::string_view(end.output).substr(0, end.output.find('\n')));
}

}  // namespace cloche::oci
