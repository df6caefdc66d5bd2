// CallOutput: what one call printed, cut at its caps and counted. No I/O.
#pragma once

#include "context/call_result.hpp"

namespace cloche {

class CallOutput {
 public:
  CallOutput(ContextCaps caps, ContextListener listener) : caps_(caps), listener_(std::move(listener)) {}

  void take(ContextOutput piece);
  // There is no listener any more.
  void mute() { listener_ = nullptr; }
  // One of the two printed more than a call may.
  bool over_limit() const;
  // Hands over what was kept.
  void move_into(CallResult& result);

 private:
  struct Lane {
    std::string kept;
    std::uint64_t produced = 0;
  };

  OutputTotals totals_of(const Lane& lane) const;

  ContextCaps caps_;
  ContextListener listener_;
  Lane out_;
  Lane err_;
};

}  // namespace cloche
