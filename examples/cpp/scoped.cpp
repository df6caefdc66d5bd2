// Scoped claims, the recommended way: the sandbox is released automatically, even after an exception.
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

// The destructor of a lease releases its sandbox.
void with_a_lease(cloche::Manager& manager) {
  cloche::Lease lease = manager.acquire("python");
  cloche::SandboxContainer container(*lease, {.language = "python"});
  container.prepare_workdir({{"calculator.py", "print(int(input()) + int(input()))\n"}});
  const auto result = container.run_commands({"5", "3"}, "python3 calculator.py");
  std::cout << "5 and 3 make " << result.out;
}

// with() has the scope of a function, and returns what that returns.
void with_a_function(cloche::Manager& manager) {
  const auto out = manager.with("python", [](cloche::Sandbox& sandbox) {
    return sandbox.run({.argv = {"python3", "-c", "print(2 ** 70)"}}).out;
  });
  std::cout << "2 to the 70 is " << out;
}

void after_an_exception(cloche::Manager& manager) {
  try {
    manager.with("python", [](cloche::Sandbox& sandbox) {
      sandbox.write_file("secret.txt", "of the first user");
      throw std::runtime_error("the grader failed");
    });
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << ", and " << manager.stats().at("python").active << " sandboxes are leased\n";
  }
  // The next caller finds nothing of the previous one.
  const cloche::Lease lease = manager.acquire("python");
  cloche::Lease next = manager.acquire("python");
  std::cout << "the next one finds " << next->list("/app").entries.size() << " files\n";
}

void example() {
  cloche::Manager manager(python_pool());
  with_a_lease(manager);
  with_a_function(manager);
  after_an_exception(manager);
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
//   5 and 3 make 8
//   2 to the 70 is 1180591620717411303424
//   the grader failed, and 0 sandboxes are leased
//   the next one finds 0 files
