// Resource limits: limits of a sandbox, limits of one program, and how their outcomes are distinguished.
#include <cloche/sandbox.hpp>
#include <iostream>

namespace {

using namespace std::chrono_literals;

void tell(const std::string& what, const cloche::RunResult& result) {
  std::cout << what << ": " << to_string(result.outcome.ending) << ", exit code " << result.outcome.exit_code << "\n";
}

cloche::ExecSpec python(const std::string& code) { return {.argv = {"python3", "-c", code}}; }

void example() {
  // Of the sandbox: all that runs in it together.
  cloche::SandboxSpec spec;
  spec.limits.memory = cloche::mib(64);
  spec.limits.cpus = 0.5;
  spec.limits.pids = 32;
  spec.limits.file_size = cloche::mib(1);
  cloche::Engine engine;
  cloche::Sandbox sandbox = engine.create(spec);

  tell("too much memory", sandbox.run(python("x = bytearray(200 << 20)")));
  tell("too large a file", sandbox.run(python("open('big', 'wb').write(bytes(2 << 20))")));
  const auto crowd =
      sandbox.run(cloche::ExecSpec::shell("for i in $(seq 100); do sleep 60 & done 2>/dev/null; echo no"));
  std::cout << "too many processes: " << (crowd.out.empty() ? "the shell could start no more" : crowd.out) << "\n";

  // Of one program.
  cloche::ExecSpec slow = python("import time; print('begun', flush=True); time.sleep(60)");
  slow.wall_limit = 500ms;
  const auto ended = sandbox.run(slow);
  tell("too long", ended);
  std::cout << "  it had printed " << ended.out;

  cloche::ExecSpec busy = python("while True: pass");
  busy.cpu_limit = 200ms;
  tell("too busy", sandbox.run(busy));

  cloche::ExecSpec loud = python("while True: print('x' * 1000)");
  loud.keep_output = cloche::kib(1);
  loud.stop_output = cloche::mib(1);
  const auto cut = sandbox.run(loud);
  tell("too loud", cut);
  std::cout << "  " << to_string(cloche::Bytes{cut.out.size()}) << " of it are kept\n";

  tell("within all of them", sandbox.run(python("print('fine')")));
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
//   too much memory: memory_limit, exit code 137
//   too large a file: exited, exit code 1
//   too many processes: the shell could start no more
//   too long: wall_limit, exit code 137
//     it had printed begun
//   too busy: cpu_limit, exit code 137
//   too loud: output_limit, exit code 137
//     1 KiB of it are kept
//   within all of them: exited, exit code 0
