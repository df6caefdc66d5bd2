#include "sandbox/exec_spec.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace cloche {

namespace {

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

// The kernel's limits for a program: 128 KiB for a string with its NUL, 2 MiB for all of them with their addresses.
// Some room is left for what Cloche adds.
constexpr std::size_t longest_string = 128 * 1024 - 1;
constexpr std::size_t longest_list = 2 * 1024 * 1024 - 64 * 1024;

Status validate_sizes(const ExecSpec& spec) {
  std::size_t all = 0;
  const auto add = [&all](std::size_t size) { all += size + 1 + sizeof(char*); };
  for (std::size_t i = 0; i < spec.argv.size(); ++i) {
    if (spec.argv[i].size() > longest_string) {
      return fail(ErrorCode::invalid_argument, "argument " + std::to_string(i) + " of the program has " +
                                                   std::to_string(spec.argv[i].size()) + " bytes, more than the " +
                                                   std::to_string(longest_string) + " allowed; pass it by a file");
    }
    add(spec.argv[i].size());
  }
  for (const auto& [key, value] : spec.env) {
    const std::size_t size = key.size() + 1 + value.size();
    if (size > longest_string) {
      return fail(ErrorCode::invalid_argument, "environment variable '" + key.substr(0, 64) + "' has " +
                                                   std::to_string(size) + " bytes with its name, more than the " +
                                                   std::to_string(longest_string) + " allowed; pass it by a file");
    }
    add(size);
  }
  if (all <= longest_list) return {};
  return fail(ErrorCode::invalid_argument, "the program's arguments and environment have " + std::to_string(all) +
                                               " bytes, more than the " + std::to_string(longest_list) +
                                               " allowed; pass some of them by a file");
}

bool is_root(const ExecSpec& spec) { return spec.uid == 0U; }

Status validate(const ExecSpec& spec, const SandboxSpec& sandbox) {
  if (spec.argv.empty() || spec.argv.front().empty()) return fail(ErrorCode::invalid_argument, "missing program");
  if (std::ranges::any_of(spec.argv, has_nul))
    return fail(ErrorCode::invalid_argument, "an argument contains a NUL byte");
  CLOCHE_CHECK(validate_environment(spec.env));
  CLOCHE_CHECK(validate_sizes(spec));
  if (!spec.cwd.empty() && !is_clean_absolute_path(spec.cwd)) {
    return fail(ErrorCode::invalid_argument,
                "cwd must be an absolute path without '..', '.', NUL or empty parts: '" + spec.cwd + "'");
  }
  if (is_root(spec) ? !sandbox.root || spec.gid.value_or(0) != 0U : spec.gid == 0U) {
    return fail(ErrorCode::invalid_argument, sandbox.root
                                                 ? "uid 0 and gid 0 belong together"
                                                 : "programs cannot run as root in this sandbox; uid and gid 0 "
                                                   "are reserved for the agent");
  }
  if (is_root(spec) && !spec.zygote.empty())
    return fail(ErrorCode::invalid_argument, "a run from a zygote cannot run as root");
  if ((spec.wall_limit && spec.wall_limit->count() <= 0) || (spec.cpu_limit && spec.cpu_limit->count() <= 0)) {
    return fail(ErrorCode::invalid_argument, "time limits must be greater than zero");
  }
  if (spec.terminal && !spec.zygote.empty())
    return fail(ErrorCode::invalid_argument, "a run from a zygote cannot have a terminal");
  if (spec.events && spec.lifetime == Lifetime::background)
    return fail(ErrorCode::invalid_argument, "a background exec has no events");
  return {};
}

std::vector<std::string> environment(const ExecSpec& spec, const SandboxSpec& sandbox) {
  std::map<std::string, std::string> env{
      // The last is Cloche's own, for what the sandbox's root lacks: `python` where there is only `python3`.
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/.cloche/bin"},
      {"HOME", is_root(spec) ? std::string(root_home) : home_of(sandbox)},
      {"USER", is_root(spec) ? "root" : sandbox.user},
      {"LOGNAME", is_root(spec) ? "root" : sandbox.user},
      {"LANG", "C.UTF-8"},
  };
  if (spec.terminal) env["TERM"] = "xterm-256color";
  for (const auto& [key, value] : spec.env) env[key] = value;
  std::vector<std::string> entries;
  for (const auto& [key, value] : env) entries.push_back(key + "=" + value);
  return entries;
}

std::vector<wire::Rlimit> rlimits(const ExecSpec& spec, const Limits& limits, Kernel kernel) {
  std::map<int, wire::Rlimit> by_resource;
  const auto set = [&](int resource, std::uint64_t soft, std::uint64_t hard) {
    by_resource[resource] = {static_cast<std::uint32_t>(resource), soft, hard};
  };
  set(RLIMIT_CORE, 0, 0);
  if (kernel != Kernel::shared) {
    // gVisor counts processes and threads of each user, and programs have one that nothing else has. Outside, the
    // kernel counts gVisor's own threads, which says nothing of how many there are inside. Of another machine Cloche
    // has no other limit.
    set(RLIMIT_NPROC, limits.pids, limits.pids);
  }
  if (kernel != Kernel::own) {
    // Counted beyond the sandbox: without these, one could use up what all have.
    set(RLIMIT_MSGQUEUE, 256 * 1024, 256 * 1024);
    set(RLIMIT_SIGPENDING, 4096, 4096);
  }
  set(RLIMIT_FSIZE, limits.file_size.count, limits.file_size.count);
  set(RLIMIT_NOFILE, limits.open_files, limits.open_files);
  for (const Rlimit& limit : spec.rlimits) set(limit.resource, limit.soft, limit.hard);
  std::vector<wire::Rlimit> all;
  for (const auto& [resource, limit] : by_resource) all.push_back(limit);
  return all;
}

std::uint64_t in_ms(const std::optional<std::chrono::milliseconds>& span) {
  return span ? static_cast<std::uint64_t>(span->count()) : 0;
}

}  // namespace

Status validate_environment(const std::map<std::string, std::string>& env) {
  for (const auto& [key, value] : env) {
    if (key.empty() || key.find('=') != std::string::npos || has_nul(key) || has_nul(value)) {
      return fail(ErrorCode::invalid_argument, "invalid environment variable: '" + key + "'");
    }
  }
  return {};
}

Result<wire::ExecRequest> to_request(const ExecSpec& spec, const SandboxSpec& sandbox, const Limits& limits,
                                     Kernel kernel) {
  CLOCHE_CHECK(validate(spec, sandbox));
  wire::ExecRequest request;
  request.argv = spec.argv;
  request.env = environment(spec, sandbox);
  request.cwd = spec.cwd.empty() ? sandbox.work_dir : spec.cwd;
  request.uid = spec.uid.value_or(uid_of(sandbox));
  request.gid = spec.gid.value_or(is_root(spec) ? 0 : sandbox.gid);
  request.stdin_mode = spec.stdin_mode == Stdin::closed ? wire::StdinMode::closed : wire::StdinMode::stream;
  if (spec.terminal) request.pty = wire::WindowSize{spec.terminal->rows, spec.terminal->columns};
  request.wall_ms = in_ms(spec.wall_limit);
  request.cpu_ms = in_ms(spec.cpu_limit);
  request.keep_bytes = spec.keep_output.count;
  request.stop_bytes = spec.stop_output.count;
  request.rlimits = rlimits(spec, limits, kernel);
  request.umask = spec.umask;
  request.background = spec.lifetime == Lifetime::background;
  request.zygote = spec.zygote;
  if (spec.events) request.events = wire::EventLane{spec.events->keep.count, spec.events->stop.count};
  return request;
}

}  // namespace cloche
