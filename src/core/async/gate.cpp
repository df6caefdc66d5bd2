#include "core/async/gate.hpp"

#include <array>

namespace cloche {

namespace {

struct Ticket {
  explicit Ticket(const Executor& executor) : called(executor) {}
  bool admitted = false;
  Event called;
};

}  // namespace

struct GateState {
  GateState(Executor e, std::uint32_t width) : executor(std::move(e)), room(width) {}

  void admit() {
    for (auto& queue : queues) {
      while (room > 0 && !queue.empty()) {
        --room;
        queue.front()->admitted = true;
        queue.front()->called.notify();
        queue.pop_front();
      }
    }
  }

  Executor executor;
  std::uint32_t room;
  std::array<std::list<Ticket*>, 2> queues;
};

namespace {

// In the queue until it is admitted; if it leaves by an exception after that, its room is released.
class Place {
 public:
  Place(std::shared_ptr<GateState> gate, Urgency urgency)
      : gate_(std::move(gate)), queue_(gate_->queues[urgency == Urgency::urgent ? 0 : 1]), ticket_(gate_->executor) {
    queue_.push_back(&ticket_);
    gate_->admit();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (!ticket_.admitted) {
      queue_.remove(&ticket_);
    } else if (!taken_) {
      ++gate_->room;
      gate_->admit();
    }
  }

  Ticket& ticket() { return ticket_; }
  std::shared_ptr<GateState> take() {
    taken_ = true;
    return gate_;
  }

 private:
  std::shared_ptr<GateState> gate_;
  std::list<Ticket*>& queue_;
  Ticket ticket_;
  bool taken_ = false;
};

}  // namespace

Gate::Gate(Executor executor, std::uint32_t width)
    : state_(std::make_shared<GateState>(std::move(executor), std::max<std::uint32_t>(width, 1))) {}

Gate::Pass::~Pass() {
  if (!gate_) return;
  ++gate_->room;
  gate_->admit();
}

Task<Gate::Pass> Gate::enter(Urgency urgency) {
  Place place(state_, urgency);
  while (!place.ticket().admitted) co_await place.ticket().called.wait();
  co_return Pass(place.take());
}

}  // namespace cloche
