// CallOutput: what one call printed, cut at its caps and counted. No I/O.
#pragma once

#include "context/call_result.hpp"
#include "sandbox/exec.hpp"

namespace cloche {

class CallOutput {
 public:
  // Output within the cap goes to the sink, or into the result where there is none.
  CallOutput(ContextCaps caps, OutputSink sink) : caps_(caps), sink_(std::move(sink)) {}

  void take(Output piece);
  // One of the two printed more than a call may.
  bool over_limit() const;
  // Hands over what was kept.
  void move_into(CallResult& result);

 private:
  struct Lane {
    std::string kept;
    std::uint64_t produced = 0;
    std::uint64_t passed = 0;  // within the cap

    OutputTotals totals() const { return {Bytes{produced}, Bytes{produced - passed}}; }
  };

  ContextCaps caps_;
  OutputSink sink_;
  Lane out_;
  Lane err_;
};

}  // namespace cloche
