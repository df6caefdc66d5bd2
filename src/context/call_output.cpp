#include "context/call_output.hpp"

#include <algorithm>

namespace cloche {

void CallOutput::take(Output piece) {
  Lane& lane = piece.stream == Stream::err ? err_ : out_;
  lane.produced += piece.bytes.size();
  const std::uint64_t room = caps_.keep_output.count - lane.passed;
  if (room == 0 || piece.bytes.empty()) return;
  if (piece.bytes.size() > room) piece.bytes.resize(room);
  lane.passed += piece.bytes.size();
  if (sink_) {
    sink_(std::move(piece));
  } else {
    lane.kept += piece.bytes;
  }
}

bool CallOutput::over_limit() const { return std::max(out_.produced, err_.produced) > caps_.stop_output.count; }

void CallOutput::move_into(CallResult& result) {
  result.out_totals = out_.totals();
  result.err_totals = err_.totals();
  result.out = std::move(out_.kept);
  result.err = std::move(err_.kept);
}

}  // namespace cloche
