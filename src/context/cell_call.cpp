#include "context/cell_call.hpp"

namespace cloche {

namespace {

ContextEnding ending_of(const CellResult& result) {
  const bool left_badly = result.exit_code.value_or(0) != 0;
  return result.error || left_badly ? ContextEnding::error : ContextEnding::ok;
}

}  // namespace

Task<Result<CellResult>> run_cell(ContextCore& core, CellRequest request, std::string figures, OutputSink sink,
                                  Deadline deadline) {
  if (auto valid = validate(request); !valid) co_return fail(std::move(valid).error());
  CoreCall call;
  call.wall_limit = request.wall_limit;
  call.caps = request.caps;
  call.sink = std::move(sink);
  const bool rich = request.display != nullptr;
  call.display = std::move(request.display);
  call.request = [cell = std::move(request), figures, rich](const std::string& id, const Interpreter& interpreter) {
    CellFrame frame;
    frame.id = id;
    frame.interrupts = interpreter.interrupts;
    frame.figure_prefix = figures;
    frame.rich = rich;
    return to_driver_input(cell, frame);
  };
  auto called = co_await core.call(std::move(call), deadline);
  if (!called) co_return fail(std::move(called).error());
  CellResult result;
  static_cast<CallResult&>(result) = std::move(*called);
  if (called->report.empty()) co_return result;
  auto taken = take_report(called->report, figures, result);
  if (!taken) co_return fail(std::move(taken).error());
  if (result.ending == ContextEnding::ok) result.ending = ending_of(result);
  co_return result;
}

}  // namespace cloche
