// Destroy on fatal error: after a serious failure the sandbox is not used again.
#include <cloche/manager.hpp>
#include <cloche/sandbox_container.hpp>
#include <iostream>

namespace {

using namespace std::chrono_literals;

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

cloche::CommandResponse grade(cloche::Manager& manager, const std::string& source) {
  const auto sandbox = manager.get("python");
  try {
    cloche::SandboxContainer container(*sandbox, {.language = "python"});
    container.prepare_workdir({{"main.py", source}});
    auto result = container.run_command("python3 main.py", {.timeout = 1s});
    // Everything that the program did is removed with the sandbox, and the pool creates another one.
    if (result.category == cloche::Category::timeout) {
      manager.destroy("python", sandbox);
    } else {
      manager.release("python", sandbox);
    }
    return result;
  } catch (...) {
    manager.destroy("python", sandbox);
    throw;
  }
}

void tell(const cloche::CommandResponse& result) {
  std::cout << to_string(result.category) << ", exit code " << result.exit_code << ", printed " << result.out;
}

void example() {
  cloche::Manager manager(python_pool());
  tell(grade(manager, "print('quick')"));
  tell(grade(manager, "print('so far', flush=True)\nwhile True: pass"));
  tell(grade(manager, "print('as if nothing had happened')"));
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
//   success, exit code 0, printed quick
//   timeout, exit code 124, printed so far
//   success, exit code 0, printed as if nothing had happened
