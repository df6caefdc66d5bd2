// One-shot runs: a sandbox for one program, which is removed afterwards. First with Cloche's own interface, then with
// that of CodeQuiz' code runner.
#include <cloche/coderunner.hpp>
#include <cloche/runner.hpp>
#include <filesystem>
#include <iostream>

namespace {

using namespace std::chrono_literals;

void with_cloche(const cloche::Manager& manager) {
  cloche::OneShot one_shot(manager);
  const auto greeting =
      one_shot.run_code({.language = "python", .code = "print('Hello, ' + input())", .input = {"quiz"}});
  std::cout << "success " << greeting.success << ": " << greeting.output << "\n";

  const auto compiled = one_shot.run_code({.language = "c", .code = "int main(void) { return x; }"});
  std::cout << to_string(compiled.category) << ": "
            << (compiled.error.find("undeclared") != std::string::npos ? "the compiler says why" : compiled.error)
            << "\n";

  const auto endless = one_shot.run_code({.language = "python", .code = "while True: pass", .timeout = 1s});
  std::cout << "timed out " << endless.timed_out << ": " << endless.error << "\n";
}

void with_the_quiz(const cloche::Manager& manager) {
  cloche::coderunner::SandboxConfiguration configuration;
  configuration.temp_code_path = std::filesystem::temp_directory_path() / "cloche-example-code";
  cloche::coderunner::CodeRunnerFactory factory(manager, configuration);

  auto runner = factory.create("python");
  const auto result = runner.run_code("import sys\nfor line in sys.stdin: print(line.strip()[::-1])",
                                      {.input = {"stressed", "drawer"}});
  std::cout << runner.language() << ": " << result.output.value() << "\n";
  const auto failed = runner.run_code("raise SystemExit('no luck')");
  std::cout << "success " << failed.success << ": " << failed.error.value() << "\n";

  // A language without a sandbox is never run outside of one.
  try {
    factory.create("Cobol");
  } catch (const cloche::coderunner::UnsupportedLanguageException& error) {
    std::cout << error.what() << "\n";
  }
  std::filesystem::remove_all(configuration.temp_code_path);
}

void example() {
  cloche::Manager manager(cloche::ManagerOptions{});  // no pools: each run gets a new sandbox
  with_cloche(manager);
  with_the_quiz(manager);
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
//   success 1: Hello, quiz
//   compilation_error: the compiler says why
//   timed out 1: Execution timed out
//   Python: desserts
//   reward
//   success 0: no luck
//   The programming language 'Cobol' is not currently supported.
