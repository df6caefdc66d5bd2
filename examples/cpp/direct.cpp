// Direct claim and release: the caller claims a warm sandbox from a pool and releases it explicitly.
#include <cloche/manager.hpp>
#include <cloche/sandbox_container.hpp>
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

void example() {
  cloche::Manager manager(python_pool());
  const auto sandbox = manager.get("python");
  cloche::CommandResponse result;
  try {
    cloche::SandboxContainer container(*sandbox, {.language = "python"});
    container.prepare_workdir({{"main.py", "from lib.words import greet\nprint(greet('sandbox'))\n"},
                               {"lib/words.py", "def greet(name): return f'Hello, {name}!'\n"}});
    result = container.run_command("python3 main.py");
  } catch (...) {
    manager.release("python", sandbox);
    throw;
  }
  manager.release("python", sandbox);

  std::cout << result.out << "category " << to_string(result.category) << ", exit code " << result.exit_code << "\n";
  // Releasing twice is harmless.
  const bool again = manager.release("python", sandbox) == cloche::Returned::now;
  std::cout << "released " << (again ? "twice" : "once") << ", " << manager.stats().at("python").active << " leased\n";
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
//   Hello, sandbox!
//   category success, exit code 0
//   released once, 0 leased
