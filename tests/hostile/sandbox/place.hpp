// Place: a sandbox for attackers on one target, a neighbour beside it that must not notice, and the host around both.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "hostile/sandbox/attack.hpp"
#include "hostile/sandbox/stage.hpp"

namespace cloche::hostile {

class Place {
 public:
  explicit Place(testing_support::Target target);
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  // Destroys the sandboxes; one that stays fails the test that runs.
  ~Place();

  const testing_support::Target& target() const { return target_; }
  const Stage& stage() const { return stage_; }

  // Runs a coroutine to its end; an exception fails the test.
  void run(std::function<Task<>()> body);

  // The attackers' sandbox, as good as new; another one when the last cannot be made so. Null after a failed test.
  Task<LiveSandbox*> sandbox(std::optional<Bytes> memory = {});
  // The next one is another.
  void spoil() { uses_ = most_uses(); }
  // The agent answers, or the sandbox is known to be lost; the neighbour and the host know nothing of it.
  enum class Loss { is_a_failure, is_fine };
  Task<> expect_unharmed(Loss loss);

  // Runs a program of programs/ with the environment of attackers.
  Task<Result<Exec::Collected>> exec(LiveSandbox& sandbox, std::vector<std::string> argv, ExecSpec spec);

 private:
  // On gVisor one sandbox that took a lot of memory does not give it back.
  int most_uses() const { return target_.is_gvisor() ? 16 : 1000; }
  SandboxSpec spec(std::optional<Bytes> memory) const;
  Task<std::unique_ptr<LiveSandbox>> create(SandboxSpec spec);
  Task<> move_the_neighbour_in();
  Task<> expect_neighbour_unharmed();
  Task<> drop(std::unique_ptr<LiveSandbox> sandbox);

  testing_support::Target target_;
  Stage stage_;
  asio::io_context io_{1};
  asio::thread_pool threads_{2};
  InstanceId instance_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<LiveSandbox> sandbox_;
  int uses_ = 0;                 // of the attackers' sandbox
  std::optional<Bytes> memory_;  // of it, where it is not the usual
  std::unique_ptr<LiveSandbox> neighbour_;
  std::unique_ptr<Exec> tenant_;  // the program that lives in the neighbour
};

// The place of a target, made when it is first asked for. All are left by leave_all_places().
Place& place_of(const testing_support::Target& target);
void leave_all_places();

}  // namespace cloche::hostile
