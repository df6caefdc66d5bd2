// Interpreter: one running interpreter: what it prints and what its driver says, in the order in which they came.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "context/call_result.hpp"
#include "context/driver_reader.hpp"
#include "core/async/event.hpp"
#include "sandbox/exec.hpp"

namespace cloche {

class Interpreter {
 public:
  // `wake` is notified whenever there is something to take, and at the end.
  Interpreter(Executor executor, std::unique_ptr<Exec> exec, std::shared_ptr<Event> wake)
      : exec_(std::move(exec)), wake_(std::move(wake)), room_(std::move(executor)) {}

  // Reads until the interpreter has ended, as far as there is room: an interpreter that floods its output while it is
  // not read has to wait. Keeps `self` alive; its owner cancels and joins it.
  static Task<> pump(std::shared_ptr<Interpreter> self);

  using Item = std::variant<Output, DriverEvent>;
  std::optional<Item> take();
  bool has_more() const { return !inbox_.empty(); }
  bool runs() const { return !ended_ && breach_.empty(); }
  // How it ended, once all was taken. An Error means that the sandbox was lost or its agent lied.
  const std::optional<Result<Outcome>>& ended() const { return inbox_.empty() ? ended_ : still_on; }
  // Why it was stopped, where its driver broke the protocol.
  const std::string& breach() const { return breach_; }

  Exec& exec() { return *exec_; }

  std::uint32_t pid = 0;         // of the driver, as the sandbox counts; 0 until it is ready
  std::uint64_t interrupts = 0;  // sent so far
  bool leaving = false;          // the call under way ends by a successor's word, which takes a moment
  std::string begin;             // what the driver said at the begin of the call under way

 private:
  static Task<Status> read_to_end(std::shared_ptr<Interpreter> self);
  void take_events(std::string_view bytes);
  void put(Item item, std::size_t bytes);

  static const std::optional<Result<Outcome>> still_on;

  std::unique_ptr<Exec> exec_;
  std::shared_ptr<Event> wake_;
  Event room_;
  DriverReader reader_;
  std::deque<std::pair<Item, std::size_t>> inbox_;
  std::size_t inbox_bytes_ = 0;
  std::optional<Result<Outcome>> ended_;
  std::string breach_;
};

}  // namespace cloche
