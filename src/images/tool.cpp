#include "images/tool.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/bytes.hpp"
#include "process/capture.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::images {

namespace {

constexpr Bytes most_output = mib(4);
constexpr std::size_t longest_line = 4096;
constexpr int look_up_every = 100;  // milliseconds until a cancellation is noticed

// A step of the child, in its own namespaces: its mounts are not the host's, and /proc shows its processes.
CLOCHE_IN_CHILD const char* make_mounts_own(const void*) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "part from the mounts";
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, nullptr) != 0) return "mount /proc";
  return nullptr;
}

}  // namespace

std::vector<std::string> plain_environment() {
  std::vector<std::string> all = {"PATH=" + std::string(process::system_path), "LC_ALL=C.UTF-8", "HOME=/root",
                                  "DEBIAN_FRONTEND=noninteractive"};
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy"}) {
    if (const char* value = std::getenv(name)) all.push_back(std::string(name) + "=" + value);
  }
  return all;
}

Result<std::string> find_tool(const std::string& name) {
  auto found = process::find_program(name, process::directories_of(process::system_path));
  if (!found) return fail(ErrorCode::not_found, "program not found on this host: " + name);
  return std::move(*found);
}

Result<Tool> Tool::start(const ToolSpec& spec) {
  process::Spec child;
  CLOCHE_TRY(child.program, find_tool(spec.argv.front()));
  child.argv = spec.argv;
  child.argv.front() = child.program;
  child.environment = spec.environment;
  child.directory = spec.directory;
  child.parent_death = process::Spec::ParentDeath::is_killed;
  if (spec.isolation == ToolSpec::Isolation::own_processes_and_mounts) {
    child.namespaces = CLONE_NEWPID | CLONE_NEWNS;
    child.steps.push_back({make_mounts_own, nullptr});
  }
  CLOCHE_TRY(const UniqueFd in, process::make_input(spec.input));
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  UniqueFd err;
  if (spec.errors == ToolSpec::Errors::apart) {
    CLOCHE_TRY(err, process::make_bounded_memory(kib(16)));
  }
  child.in = in.get();
  child.out = out.write.get();
  child.err = err ? err.get() : out.write.get();
  CLOCHE_TRY(process::Child started, process::Child::start(child));
  return Tool(std::move(started), std::move(out.read), std::move(err));
}

Result<std::string> Tool::read(const CancelToken& token) {
  for (;;) {
    CLOCHE_CHECK(token.check("wait for a program"));
    pollfd polled = {out_.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, look_up_every);
    if (ready < 0 && errno != EINTR) return fail_errno("wait for a program");
    if (ready <= 0) continue;
    std::string bytes(256 << 10, '\0');
    const ssize_t n = ::read(out_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read from a program");
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
  }
}

int Tool::wait() { return child_.reap().exit_code(); }

std::string Tool::complaints() const { return err_ ? process::read_bounded_memory(err_.get()) : std::string(); }

Result<int> run_lines(const ToolSpec& spec, const LineSink& line, const CancelToken& token) {
  CLOCHE_TRY(Tool tool, Tool::start(spec));
  std::string pending;
  for (;;) {
    CLOCHE_TRY(const std::string bytes, tool.read(token));
    if (bytes.empty()) break;
    for (const char c : bytes) {
      if (c != '\n' && c != '\r' && pending.size() < longest_line) {
        pending += c;
      } else if (!pending.empty()) {
        line(pending);
        pending.clear();
      }
    }
  }
  if (!pending.empty()) line(pending);
  return tool.wait();
}

Result<std::string> output_of(const ToolSpec& spec, const CancelToken& token) {
  CLOCHE_TRY(Tool tool, Tool::start(spec));
  process::Captured out{tool.out_.get(), most_output, {}, 0};
  CLOCHE_TRY(const auto end, process::capture(tool.child_, {&out, 1}, token));
  const std::string& name = spec.argv.front();
  if (end == process::CaptureEnd::output_limit) return fail(ErrorCode::limit_reached, name + " printed too much");
  if (const int code = tool.wait(); code != 0) {
    return fail(ErrorCode::internal,
                name + " ended with " + std::to_string(code) + ": " + tool.complaints().substr(0, 400));
  }
  return std::move(out.kept);
}

}  // namespace cloche::images
