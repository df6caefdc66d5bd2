#include "context/javascript_context.hpp"

#include <csignal>

#include "context/cell_call.hpp"
#include "context/javascript_driver_script.hpp"

namespace cloche {

namespace {

constexpr int most_signals = 2;

class JavaScriptDialect final : public Dialect {
 public:
  explicit JavaScriptDialect(JavaScriptContextOptions options) : options_(std::move(options)) {}

  // Debian once called it nodejs.
  std::vector<ExecSpec> programs() const override { return {program("node"), program("nodejs")}; }

  Task<bool> interrupt(LiveSandbox&, Interpreter& interpreter, int attempt) override {
    if (attempt >= most_signals) co_return false;
    ++interpreter.interrupts;
    interpreter.exec().signal(SIGINT, wire::SignalTarget::group);
    co_return true;
  }
  std::chrono::milliseconds grace() const override { return options_.grace / most_signals; }

  // Timers and programs that a cell started may continue; their output is not the cell's.
  Task<bool> sweep(LiveSandbox&, Interpreter&) override { co_return true; }
  std::string nothing_request(const std::string&) const override { return {}; }

 private:
  ExecSpec program(const char* name) const {
    ExecSpec spec = long_lived_exec();
    spec.env = options_.env;
    spec.cwd = options_.directory;
    spec.argv = {name, "-e", "(() => {" + std::string(javascript_driver_script) + "\n})()", "--"};
    if (options_.language == JavaScriptContextOptions::Language::typescript) spec.argv.emplace_back("--typescript");
    return spec;
  }

  JavaScriptContextOptions options_;
};

}  // namespace

JavaScriptContext::JavaScriptContext(Executor executor, LiveSandbox& sandbox, JavaScriptContextOptions options)
    : core_(std::move(executor), sandbox, std::make_unique<JavaScriptDialect>(std::move(options)), AfterLoss::restart) {
}

Task<Result<CellResult>> JavaScriptContext::execute(CellRequest request, OutputSink sink, Deadline deadline) {
  if (request.input && !request.input->empty()) {
    co_return fail(ErrorCode::invalid_argument, "a JavaScript cell has no stdin; write the input to a file");
  }
  request.input.reset();
  auto ran = co_await run_cell(core_, std::move(request), {}, std::move(sink), deadline);
  co_return ran;
}

}  // namespace cloche
