#include "backend/e2b/remote.hpp"

#include "backend/e2b/process_channel.hpp"

namespace cloche::e2b {

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_ask = 10s;

// Whether the error may mean that there is no such sandbox any more.
bool may_be_gone(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::not_found ||
         error.code == ErrorCode::protocol || error.code == ErrorCode::internal;
}

Task<Result<std::unique_ptr<Channel>>> dial(Remote remote, Deadline deadline) {
  Command command;
  command.argv = {agent_in_sandbox, "dial"};
  command.has_stdin = true;
  auto started = co_await remote.plane->start(std::move(command), deadline);
  if (started) {
    co_return std::make_unique<ProcessChannel>(remote.executor, remote.plane, std::move(*started), remote.sandbox);
  }
  if (!may_be_gone(started.error())) co_return fail(std::move(started).error());
  auto known = co_await remote.control->detail(remote.id, deadline.sooner(Deadline::after(time_to_ask)));
  if (!known && known.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::sandbox_lost, "sandbox " + remote.sandbox + " is gone: E2B has ended it");
  }
  co_return fail(std::move(started).error());
}

}  // namespace

Dial dial_to(Remote remote) {
  return [remote = std::move(remote)](Deadline deadline) { return dial(remote, deadline); };
}

}  // namespace cloche::e2b
