// The library for coroutines: a dialogue with a running program, and another program at the same time.
//
// Usage: coroutines [DIRECTORY]   the directory for Cloche's files, instead of /var/lib/cloche and /run/cloche
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cloche/async.hpp>
#include <iostream>

namespace {

using cloche::async::Task;

// Everything the program prints until the end of a line, or until it has ended.
Task<std::string> read_line(cloche::async::Exec& exec) {
  std::string line;
  while (!line.ends_with('\n')) {
    auto piece = co_await exec.next();
    const auto* output = std::get_if<cloche::Output>(&piece);
    if (output == nullptr) break;
    line += output->bytes;
  }
  co_return line;
}

Task<> converse(cloche::async::Sandbox& sandbox) {
  cloche::ExecSpec adder;
  adder.argv = {"python3", "-uc", "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))"};
  adder.stdin_mode = cloche::Stdin::stream;
  auto exec = co_await sandbox.start(std::move(adder));
  for (std::string question : {"1 2 3\n", "40 2\n"}) {
    std::cout << "asked  " << question;
    co_await exec.write_stdin(question);
    const std::string line = co_await read_line(exec);
    std::cout << "heard  " << line;
  }

  // The adder waits for its next line; meanwhile there is room for others.
  cloche::ExecSpec other = cloche::ExecSpec::shell("cd / && echo *");
  other.env["LC_ALL"] = "C";
  const auto listed = co_await sandbox.run(std::move(other));
  std::cout << "beside "
            << (listed.out.find("workspace") != std::string::npos ? "the root has a workspace\n" : listed.out);

  exec.close_stdin();
  auto end = co_await exec.next();
  while (!std::holds_alternative<cloche::Outcome>(end)) end = co_await exec.next();
  std::cout << "ended  " << to_string(std::get<cloche::Outcome>(end).ending) << "\n";
}

Task<> work(cloche::async::Engine& engine) {
  auto sandbox = co_await engine.create();
  co_await converse(sandbox);
  co_await sandbox.destroy();
}

}  // namespace

int main(int argc, char** argv) {
  cloche::EngineOptions options;
  if (argc > 1) {
    options.state_dir = std::string(argv[1]) + "/state";
    options.run_dir = std::string(argv[1]) + "/run";
  }
  try {
    boost::asio::io_context io{1};
    cloche::async::Engine engine(io.get_executor(), options);
    std::exception_ptr failure;
    const auto remember = [&](std::exception_ptr error) { failure = error; };
    boost::asio::co_spawn(io, [&] { return work(engine); }, remember);
    io.run();
    // A sandbox that was let go on the way is ended here.
    io.restart();
    boost::asio::co_spawn(io, [&] { return engine.close(); }, [](std::exception_ptr) {});
    io.run();
    if (failure) std::rethrow_exception(failure);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "coroutines: " << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   asked  1 2 3
//   heard  6
//   asked  40 2
//   heard  42
//   beside the root has a workspace
//   ended  exited
