#include "context/call_output.hpp"

#include <algorithm>

namespace cloche {

void CallOutput::take(ContextOutput piece) {
  Lane& lane = piece.source == ContextOutput::Source::err ? err_ : out_;
  lane.produced += piece.bytes.size();
  const std::size_t room = caps_.keep_output.count - lane.kept.size();
  if (room == 0 || piece.bytes.empty()) return;
  if (piece.bytes.size() > room) piece.bytes.resize(room);
  lane.kept += piece.bytes;
  if (listener_) listener_(piece);
}

bool CallOutput::over_limit() const { return std::max(out_.produced, err_.produced) > caps_.stop_output.count; }

OutputTotals CallOutput::totals_of(const Lane& lane) const {
  return {Bytes{lane.produced}, Bytes{lane.produced - lane.kept.size()}};
}

void CallOutput::move_into(CallResult& result) {
  result.out_totals = totals_of(out_);
  result.err_totals = totals_of(err_);
  result.out = std::move(out_.kept);
  result.err = std::move(err_.kept);
}

}  // namespace cloche
