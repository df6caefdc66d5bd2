// The blocking library: one sandbox, a few programs and files, and their results.
//
// Usage: embed [DIRECTORY]   the directory for Cloche's files, instead of /var/lib/cloche and /run/cloche
#include <cloche/sandbox.hpp>
#include <iostream>

namespace {

cloche::EngineOptions options_from(int argc, char** argv) {
  cloche::EngineOptions options;
  if (argc > 1) {
    options.state_dir = std::string(argv[1]) + "/state";
    options.run_dir = std::string(argv[1]) + "/run";
  }
  return options;
}

void use(cloche::Sandbox& sandbox) {
  const auto answer = sandbox.run({.argv = {"python3", "-c", "print(6 * 7)"}});
  std::cout << "a program prints " << answer.out;

  const auto failed = sandbox.run(cloche::ExecSpec::shell("echo oh no >&2; exit 3"));
  std::cout << "a program fails with exit code " << failed.outcome.exit_code << " and says " << failed.err;

  const auto endless = sandbox.run({.argv = {"sleep", "1000"}, .wall_limit = std::chrono::milliseconds(200)});
  std::cout << "an endless one ends at its " << to_string(endless.outcome.ending) << "\n";

  sandbox.write_file("notes/list.txt", "bread\nmilk\n");
  sandbox.run(cloche::ExecSpec::shell("echo tea >> notes/list.txt"));
  std::cout << "a file holds " << sandbox.stat("notes/list.txt").size << " bytes:\n"
            << sandbox.read_file("notes/list.txt");
  for (const auto& match : sandbox.grep(".", "^t").matches) {
    std::cout << match.path << ", line " << match.line << ": " << match.text << "\n";
  }

  try {
    sandbox.read_file("../etc/shadow");
  } catch (const cloche::SandboxArgumentError&) {
    std::cout << "a path that leads out is refused\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    cloche::Engine engine(options_from(argc, argv));
    cloche::Sandbox sandbox = engine.create();
    use(sandbox);
    return 0;
  } catch (const cloche::SandboxError& error) {
    std::cerr << "embed: " << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   a program prints 42
//   a program fails with exit code 3 and says oh no
//   an endless one ends at its wall_limit
//   a file holds 15 bytes:
//   bread
//   milk
//   tea
//   notes/list.txt, line 3: tea
//   a path that leads out is refused
