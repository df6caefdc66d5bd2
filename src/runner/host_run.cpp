#include "runner/host_run.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/cancel_token.hpp"
#include "core/deadline.hpp"
#include "core/unique_fd.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"
#include "runner/judge/program_plan.hpp"

namespace cloche::runner {

namespace {

constexpr uid_t nobody = 65534;

std::chrono::microseconds span(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

void put_status(Outcome& outcome, const process::Ended& ended) {
  outcome.exit_code = ended.exit_code();
  outcome.signal = ended.signal();
  outcome.user = span(ended.usage.ru_utime);
  outcome.system = span(ended.usage.ru_stime);
  outcome.peak_memory = kib(static_cast<std::uint64_t>(ended.usage.ru_maxrss));
}

std::string take_output(process::Captured& captured, OutputTotals& totals) {
  totals.produced = Bytes{captured.produced};
  totals.dropped = Bytes{captured.produced - captured.kept.size()};
  return std::move(captured.kept);
}

// A path is taken as it is. A name that is not found stays one that the kernel does not find.
std::string path_of(const std::string& program) {
  if (program.find('/') != program.npos) return program;
  return process::find_program(program, process::directories_of(process::user_path)).value_or("/bin/" + program);
}

std::vector<std::string> environment_of(const HostRun& run) {
  std::map<std::string, std::string> all{
      {"PATH", std::string(process::user_path)}, {"HOME", run.directory}, {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : run.env) all[name] = value;
  std::vector<std::string> entries;
  entries.reserve(all.size());
  for (const auto& [name, value] : all) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

Exec::Collected not_started(const HostRun& run, const process::StartFailure& failure) {
  Exec::Collected collected;
  collected.outcome.ending = Ending::not_started;
  collected.outcome.exit_code = failure.number == ENOENT ? 127 : 126;
  collected.outcome.reason = errno_error(run.argv.front(), failure.number).message;
  return collected;
}

}  // namespace

Result<Exec::Collected> run_on_host(const HostRun& run) {
  CLOCHE_TRY(const UniqueFd in, process::make_input(run.input));
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  CLOCHE_TRY(process::Pipe err, process::make_pipe());
  process::Spec spec;
  spec.program = path_of(run.argv.front());
  spec.argv = run.argv;
  spec.environment = environment_of(run);
  spec.directory = run.directory;
  spec.in = in.get();
  spec.out = out.write.get();
  spec.err = err.write.get();
  spec.limits = {{RLIMIT_CORE, 0}};
  if (::geteuid() == 0) spec.user = process::Credentials{nobody, nobody};

  const auto began = Deadline::Clock::now();
  auto child = process::Child::try_start(spec);
  if (!child && child.error().where == process::StartFailure::Where::child) return not_started(run, child.error());
  if (!child) return fail(child.error().as_error(run.argv.front()));
  for (process::Pipe* pipe : {&out, &err}) pipe->write.reset();
  std::array outputs{process::Captured{out.read.get(), run.output, {}, 0},
                     process::Captured{err.read.get(), run.output, {}, 0}};
  const auto end = process::capture(*child, outputs, CancelToken(Deadline::after(run.wall)));
  if (!end && end.error().code != ErrorCode::timeout) return fail(end.error());
  // Not only at a limit: what it has left in its session ends with it.
  child->kill();
  const process::Ended& ended = child->reap();
  Exec::Collected collected;
  Outcome& outcome = collected.outcome;
  put_status(outcome, ended);
  outcome.ending = ended.signal() != 0 ? Ending::signalled : Ending::exited;
  if (!end) outcome.ending = Ending::wall_limit;
  if (end && *end == process::CaptureEnd::output_limit) outcome.ending = Ending::output_limit;
  collected.out = take_output(outputs[0], outcome.out);
  collected.err = take_output(outputs[1], outcome.err);
  outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - began);
  return collected;
}

Result<HostDirectory> HostDirectory::make(const FileTree& files) {
  CLOCHE_CHECK(validate_tree(files));
  std::string path = "/tmp/cloche-host.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("create a directory");
  HostDirectory directory(path);
  for (const auto& [name, content] : files) {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    std::ofstream stream(file, std::ios::binary);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!stream.flush()) return fail(ErrorCode::internal, "cannot write " + file.string());
  }
  if (::geteuid() == 0) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
      if (::lchown(entry.path().c_str(), nobody, nobody) != 0) return fail_errno("chown " + entry.path().string());
    }
    if (::chown(path.c_str(), nobody, nobody) != 0) return fail_errno("chown " + path);
  }
  return directory;
}

HostDirectory::~HostDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cloche::runner
