// Gate: lets so many through at a time. Those who wait go in the order in which they came, the urgent ones first.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "core/async/event.hpp"

namespace cloche {

enum class Urgency { urgent, ordinary };

class Gate {
 public:
  Gate(Executor executor, std::uint32_t width);

  // Leaves the gate in its destructor.
  class Pass {
   public:
    explicit Pass(std::shared_ptr<struct GateState> gate) : gate_(std::move(gate)) {}
    Pass(Pass&& other) noexcept = default;
    Pass& operator=(Pass&&) = delete;
    ~Pass();

   private:
    std::shared_ptr<GateState> gate_;
  };

  // A caller that is cancelled gives its place in the queue up.
  Task<Pass> enter(Urgency urgency);

 private:
  std::shared_ptr<GateState> state_;
};

}  // namespace cloche
