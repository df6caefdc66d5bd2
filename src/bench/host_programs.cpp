#include "bench/host_programs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "process/capture.hpp"
#include "process/descriptors.hpp"
#include "process/poll_time.hpp"
#include "process/programs.hpp"

namespace cloche::bench {

namespace {

constexpr Bytes most_output = mib(16);

// In this process's session: Ctrl-C at a terminal ends all of them.
process::Spec spec_of(const std::vector<std::string>& argv, const std::map<std::string, std::string>& changes) {
  process::Spec spec;
  spec.program = process::find_program(argv[0]).value_or(argv[0]);
  spec.argv = argv;
  spec.environment = process::own_environment(changes);
  spec.session = process::Spec::Session::callers;
  return spec;
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& argv) {
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  process::Spec spec = spec_of(argv, {});
  spec.out = out.write.get();
  spec.err = out.write.get();
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  out.write.reset();
  process::Captured captured{out.read.get(), most_output, {}, 0};
  CLOCHE_TRY(const auto end, process::capture(child, {&captured, 1}, CancelToken(Deadline::never())));
  if (end == process::CaptureEnd::output_limit || child.reap().exit_code() != 0) {
    return fail(ErrorCode::internal, argv[0] + " failed: " + captured.kept.substr(0, 300));
  }
  return std::move(captured.kept);
}

Status expect_output(const std::vector<std::string>& argv, const std::string& wanted) {
  CLOCHE_TRY(const std::string printed, run_program(argv));
  if (printed != wanted) return fail(ErrorCode::internal, argv[0] + " printed: " + printed.substr(0, 300));
  return {};
}

Result<Helper> Helper::start(const HelperSpec& spec) {
  CLOCHE_TRY(process::Pipe in, process::make_pipe());
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  const std::string log = spec.log.empty() ? "/dev/null" : spec.log;
  const UniqueFd err(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!err) return fail_errno("open " + log);
  process::Spec child = spec_of(spec.argv, spec.env);
  child.in = in.read.get();
  child.out = out.write.get();
  child.err = err.get();
  CLOCHE_TRY(process::Child started, process::Child::start(child));
  return Helper(std::move(started), std::move(in.write), std::move(out.read));
}

Helper::~Helper() { finish(Deadline::after(std::chrono::seconds(90))); }

Status Helper::wait_for(const std::string& text, Deadline deadline) {
  while (printed_.find(text) == std::string::npos) {
    pollfd polled{out_.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, process::poll_time(deadline));
    if (ready <= 0 && !deadline.passed()) continue;
    if (ready <= 0) return fail(ErrorCode::timeout, "it did not print `" + text + "` in time");
    char buffer[4096];
    const ssize_t count = ::read(out_.get(), buffer, sizeof buffer);
    if (count <= 0) return fail(ErrorCode::unavailable, "it ended without printing `" + text + "`");
    printed_.append(buffer, static_cast<std::size_t>(count));
  }
  return {};
}

void Helper::finish(Deadline deadline) {
  in_.reset();
  (void)child_.finish(deadline);
}

}  // namespace cloche::bench
