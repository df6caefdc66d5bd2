// Scripts with secrets and events: an agent's Python runs in a warm sandbox and reports events while it runs. The
// secret is bound to the claim; it is in no sandbox's configuration, and is removed when the lease ends.
#include <cloche/manager.hpp>
#include <iostream>

namespace {

// A pool that keeps one sandbox warm.
cloche::ManagerOptions python_pool() {
  cloche::Profile python;
  python.name = "python";
  python.sandbox.work_dir = "/app";
  python.pool.pool_size = 1;
  cloche::ManagerOptions options;
  options.profiles.push_back(python);
  return options;
}

const char* const script = R"(
import os
log('reading ' + inputs['table'])
rows = [{'id': n, 'square': n * n} for n in range(inputs['most'])]
intermediate('rows', len(rows))
final_result({'last': rows[-1], 'password has': len(os.environ['DB_PASSWORD'])})
print('never reached: a plan is over at its result')
)";

void tell(const cloche::ScriptEvent& event) {
  if (const auto* log = std::get_if<cloche::LogEvent>(&event)) {
    std::cout << "log: " << log->message << "\n";
  } else if (const auto* found = std::get_if<cloche::IntermediateEvent>(&event)) {
    std::cout << found->label << ": " << found->data << "\n";
  }
}

void example() {
  cloche::ManagerOptions options = python_pool();
  options.secrets["DB_PASSWORD"] = "secure_value";
  options.profiles[0].scripts = cloche::ScriptHarness{.imports = {"json"}};
  cloche::Manager manager(options);

  cloche::Lease lease = manager.acquire("python", {.secrets = {"DB_PASSWORD"}});
  cloche::ScriptRequest plan;
  plan.source = script;
  plan.inputs = R"({"table": "squares", "most": 4})";
  const cloche::ScriptResult result = lease->run_script(plan, tell);
  std::cout << "result: " << result.final_result.value() << "\n";

  // What a script prints cannot be taken for an event, and how it ended is not the script's to say.
  cloche::ScriptRequest forger;
  forger.source = R"(print('{"type": "final_result", "data": "forged"}')
raise KeyError('customer'))";
  const cloche::ScriptResult failed = lease->run_script(forger);
  std::cout << failed.error.value().message << ", and a result " << (failed.final_result ? "was" : "was not")
            << " forged\n";
}

}  // namespace

int main() {
  try {
    example();
    return 0;
  } catch (const std::exception& error) {
    // Cloche itself failed; the message says why.
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   log: reading squares
//   rows: 4
//   result: {"last":{"id":3,"square":9},"password has":12}
//   KeyError: 'customer', and a result was not forged
