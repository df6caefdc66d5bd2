// Sandboxes with a shell, for an agent that works in many steps: create a sandbox, find it by id, and delete it.
#include <cloche/sandbox_manager.hpp>
#include <iostream>

namespace {

using namespace std::chrono_literals;

void example() {
  cloche::SandboxManagerOptions options;
  options.max_sandboxes = 2;
  cloche::SandboxManager manager(options);

  cloche::SandboxSettings settings;
  settings.memory_limit = "256m";
  settings.cpu_limit = 0.5;
  const std::string id = manager.create_sandbox(settings);

  // Commands follow each other in one shell: directory, variables and functions live on.
  cloche::ShellSandbox sandbox = manager.get_sandbox(id);
  sandbox.run_command("mkdir project; cd project; name=world; greet() { echo \"Hello, $name!\"; }");
  std::cout << sandbox.run_command("greet; pwd").out;
  const cloche::ShellResult failed = sandbox.run_command("ls nothing-here");
  std::cout << "exit code " << failed.exit_code << ", "
            << (failed.err.empty() ? "silently" : "with a message on stderr") << "\n";

  // A command that takes too long is ended; the next one finds a clean shell with the same variables.
  try {
    sandbox.run_command("echo begun; sleep 60", 1s);
  } catch (const cloche::CommandTimeoutError& error) {
    std::cout << error.what() << ", having printed " << error.so_far().out;
  }
  std::cout << sandbox.run_command("greet").out;

  manager.create_sandbox(settings);
  try {
    manager.create_sandbox(settings);
  } catch (const cloche::SandboxResourceError& error) {
    std::cout << error.what() << "\n";
  }
  manager.delete_sandbox(id);
  std::cout << manager.get_stats().total_sandboxes << " is left\n";
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
//   Hello, world!
//   /workspace/project
//   exit code 2, with a message on stderr
//   Command execution timed out after 1 seconds, having printed begun
//   Hello, world!
//   Maximum number of sandboxes (2) reached
//   1 is left
