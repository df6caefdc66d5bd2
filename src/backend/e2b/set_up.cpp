#include "backend/e2b/set_up.hpp"

#include <fstream>
#include <iterator>

#include "core/async/blocking.hpp"
#include "core/fault_point.hpp"

namespace cloche::e2b {

namespace {

constexpr std::size_t longest_words = 4096;

Result<std::string> read_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file || content.empty()) return fail(ErrorCode::internal, "cannot read the agent " + path);
  return content;
}

Task<Status> run_command(const Remote& remote, std::vector<std::string> argv, Deadline deadline) {
  Command command;
  command.argv = std::move(argv);
  return remote.plane->run(std::move(command), deadline);
}

// Returns when the relay listens. It outlives the stream that started it, and it is the program itself that stays: a
// service may end what a program leaves behind.
Task<Status> start_relay(const Remote& remote, Deadline deadline) {
  Command relay;
  relay.argv = {agent_in_sandbox, "relay", "foreground"};
  CLOCHE_CO_TRY(const DataPlane::Started started, co_await remote.plane->start(std::move(relay), deadline));
  std::string printed;
  for (;;) {
    CLOCHE_CO_TRY(const ProgramEvent event, co_await started.events->next(deadline));
    if (const auto* output = std::get_if<ProgramOutput>(&event)) {
      printed += output->bytes;
      if (!output->is_error_output && printed.find("ready\n") != std::string::npos) co_return Status{};
      if (printed.size() > longest_words) break;
    } else if (const auto* ended = std::get_if<ProgramEnded>(&event)) {
      printed += ended->status;
      break;
    }
  }
  co_return fail(ErrorCode::unsupported, "the relay does not start: " + read_message(printed));
}

}  // namespace

Task<Result<std::shared_ptr<const std::string>>> SetUp::agent() {
  if (agent_) co_return agent_;
  auto load = [path = agent_path_] { return read_program(path); };
  CLOCHE_CO_TRY(std::string content, co_await run_blocking(pool_, std::move(load)));
  agent_ = std::make_shared<const std::string>(std::move(content));
  co_return agent_;
}

Task<Status> SetUp::run(const Remote& remote, const SandboxSpec& spec, Deadline deadline) {
  CLOCHE_CO_TRY(const auto program, co_await agent());
  CLOCHE_CO_CHECK(co_await remote.plane->upload(agent_in_sandbox, *program, deadline));
  fault_point<"backend.make.created">();
  std::vector<std::string> permit{"chmod", "0700", agent_in_sandbox};
  CLOCHE_CO_CHECK(co_await run_command(remote, std::move(permit), deadline));
  std::vector<std::string> prepare{agent_in_sandbox,         "prepare",     spec.user,    std::to_string(uid_of(spec)),
                                   std::to_string(spec.gid), home_of(spec), spec.work_dir};
  CLOCHE_CO_CHECK(co_await run_command(remote, std::move(prepare), deadline));
  CLOCHE_CO_CHECK(co_await start_relay(remote, deadline));
  fault_point<"backend.make.started">();
  co_return Status{};
}

}  // namespace cloche::e2b
