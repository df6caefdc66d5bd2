#include "backend/kubernetes/remote.hpp"

#include "backend/kubernetes/exec_channel.hpp"
#include "backend/kubernetes/pod/pod_spec.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_ask_pod = 10s;
// A runtime that does not start a program in this time is tried again.
constexpr auto time_to_exec = 10s;

std::unexpected<Error> lost(const Remote& remote, const std::string& why) {
  return fail(ErrorCode::sandbox_lost, "sandbox " + remote.sandbox + " is gone: " + why);
}

// Success if the pod may still run the sandbox.
Task<Status> check_pod(const Remote& remote, Deadline deadline) {
  std::string path = remote.api->pods(remote.pod);
  auto object = co_await remote.api->get(std::move(path), deadline.sooner(Deadline::after(time_to_ask_pod)));
  if (!object && object.error().code == ErrorCode::not_found) co_return lost(remote, "its pod was deleted");
  if (!object) co_return fail(std::move(object).error());
  CLOCHE_CO_TRY(const Pod pod, read_pod(*object));
  if (pod.uid != remote.uid) co_return lost(remote, "its pod was deleted and created again");
  remote.watch->note(pod);
  if (has_ended(pod)) co_return lost(remote, end_of(pod));
  co_return Status{};
}

Task<Result<std::unique_ptr<Channel>>> dial(Remote remote, Deadline deadline) {
  const auto known = remote.watch->known(remote.pod);
  if (known && known->uid == remote.uid && has_ended(*known)) co_return lost(remote, end_of(*known));
  std::vector<std::string> argv{agent_in_pod, "dial", "patient"};
  auto opened = co_await remote.api->exec(remote.pod, sandbox_container, std::move(argv),
                                          deadline.sooner(Deadline::after(time_to_exec)));
  if (opened) co_return std::make_unique<ExecChannel>(std::move(*opened), remote.sandbox);
  CLOCHE_CO_CHECK(co_await check_pod(remote, deadline));
  co_return fail(std::move(opened).error());
}

}  // namespace

Dial dial_to(Remote remote) {
  return [remote = std::move(remote)](Deadline deadline) { return dial(remote, deadline); };
}

}  // namespace cloche::kubernetes
