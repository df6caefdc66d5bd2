#include "context/python_context.hpp"

#include <csignal>

#include "context/cell_call.hpp"
#include "context/cell_driver_script.hpp"
#include "context/charts_script.hpp"
#include "context/figures_script.hpp"
#include "context/notebook_modules_script.hpp"
#include "context/rich_results_script.hpp"
#include "core/ids.hpp"

namespace cloche {

namespace {

// Compiled under a name of its own, so that a traceback can leave the driver's frames out.
constexpr const char* start_driver =
    "import sys; space = {'__name__': 'cloche_cells'}; "
    "exec(compile(sys.argv[1], '<cloche_cells>', 'exec'), space); space['run']()";

constexpr int most_interrupts = 2;

std::string driver_source(CellResults results) {
  const std::string plain = std::string(figures_script) + cell_driver_script;
  return results == CellResults::plain ? plain : plain + charts_script + rich_results_script + notebook_modules_script;
}

class PythonDialect final : public Dialect {
 public:
  explicit PythonDialect(PythonContextOptions options) : options_(std::move(options)) {}

  std::vector<ExecSpec> programs() const override {
    ExecSpec spec = long_lived_exec();
    spec.env = options_.env;
    spec.cwd = options_.directory;
    if (options_.zygote.empty()) {
      spec.argv = {options_.interpreter, "-c", start_driver, driver_source(options_.results)};
    } else {
      spec.argv = {options_.interpreter};
      spec.zygote = options_.zygote;
    }
    return {std::move(spec)};
  }

  // Twice: a first one is lost on a cell that waits for a program, which gets it, too, and ends by it.
  Task<bool> interrupt(LiveSandbox&, Interpreter& interpreter, int attempt) override {
    if (attempt >= most_interrupts) co_return false;
    ++interpreter.interrupts;
    interpreter.exec().signal(SIGINT, wire::SignalTarget::group);
    co_return true;
  }
  std::chrono::milliseconds grace() const override { return options_.grace / most_interrupts; }

  // Threads and programs that a cell started may continue; their output is not the cell's.
  Task<bool> sweep(LiveSandbox&, Interpreter&) override { co_return true; }
  std::string nothing_request(const std::string&) const override { return {}; }

 private:
  PythonContextOptions options_;
};

Error explained(Error error, const std::string& zygote) {
  if (error.code == ErrorCode::not_found && !zygote.empty()) {
    error.message = "the zygote '" + zygote + "' is not prepared for contexts in this sandbox: " + error.message;
  }
  return error;
}

}  // namespace

PythonContext::PythonContext(Executor executor, LiveSandbox& sandbox, PythonContextOptions options)
    : figures_((options.directory.empty() ? sandbox.spec().work_dir : options.directory) + "/" + options.figures + "/" +
               random_hex(3) + "-"),
      core_(std::move(executor), sandbox, std::make_unique<PythonDialect>(options), options.after_loss) {}

Task<Status> PythonContext::prepare(LiveSandbox& sandbox, std::string zygote, std::string interpreter,
                                    std::vector<std::string> imports, Deadline deadline) {
  std::string source = driver_source(CellResults::plain);
  auto started = co_await sandbox.start_zygote(std::move(zygote), std::move(interpreter), std::move(imports),
                                               std::move(source), deadline);
  if (!started) co_return fail(std::move(started).error().at("prepare Python for contexts"));
  co_return Status{};
}

Task<Result<std::unique_ptr<PythonContext>>> PythonContext::open(LiveSandbox& sandbox, PythonContextOptions options,
                                                                 Deadline deadline) {
  if (!is_clean_absolute_path("/" + options.figures)) {
    co_return fail(ErrorCode::invalid_argument, "the directory for figures must be in the work directory");
  }
  const auto executor = co_await asio::this_coro::executor;
  const std::string zygote = options.zygote;
  auto context = std::make_unique<PythonContext>(executor, sandbox, std::move(options));
  auto started = co_await context->restart(deadline);
  if (!started) co_return fail(explained(std::move(started).error(), zygote));
  co_return context;
}

Task<Result<CellResult>> PythonContext::execute(CellRequest request, OutputSink sink, Deadline deadline) {
  std::string figures = figures_ + std::to_string(++cells_) + "-";
  auto ran = co_await run_cell(core_, std::move(request), std::move(figures), std::move(sink), deadline);
  co_return ran;
}

}  // namespace cloche
