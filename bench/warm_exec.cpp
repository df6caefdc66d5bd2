// Warm execs, side by side in one run: a program through our agent, and the same through `docker exec` of the Engine
// API.
//
//   build/dev/bench/warm_exec [rounds]        with CLOCHE_TEST_DOCKER_HOST naming an engine (scripts/engine env)
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <cstdlib>

#include "core/ids.hpp"
#include "http/client.hpp"
#include "sandbox/live_sandbox.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using testing_support::Target;
using Clock = std::chrono::steady_clock;

struct Row {
  std::string where;
  std::string what;
  std::vector<double> ms;
};

void print(Row& row, double reference) {
  std::ranges::sort(row.ms);
  const auto at = [&](double part) {
    return row.ms[static_cast<std::size_t>(part * static_cast<double>(row.ms.size() - 1))];
  };
  std::printf("| %-34s | %-22s | %8.2f | %8.2f |", row.where.c_str(), row.what.c_str(), at(0.5), at(0.99));
  if (reference > 0)
    std::printf(" %5.0f x |\n", reference / at(0.5));
  else
    std::printf("       - |\n");
}

double p50(Row row) {
  std::ranges::sort(row.ms);
  return row.ms[row.ms.size() / 2];
}

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "warm_exec: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Task<Row> through_agent(LiveSandbox& sandbox, std::string where, std::string what, ExecSpec spec, std::string expected,
                        int rounds) {
  Row row{std::move(where), std::move(what), {}};
  for (int i = -3; i < rounds; ++i) {
    ExecSpec copy = spec;
    const auto start = Clock::now();
    auto ran = co_await sandbox.run(std::move(copy), Deadline::after(60s));
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    if (must(std::move(ran)).out != expected) die(row.what + ": wrong output");
    if (i >= 0) row.ms.push_back(took.count());
  }
  co_return row;
}

Task<std::vector<Row>> measure_target(Target target, asio::thread_pool& threads, int rounds) {
  testing_support::Scratch scratch;
  const InstanceId instance{"bench-" + random_hex(4)};
  auto executor = co_await asio::this_coro::executor;
  auto backend = must(testing_support::make_backend(target, executor, threads, scratch, instance));
  SandboxSpec spec = testing_support::spec_for(target);
  spec.limits.cpus = 2;
  auto enclosure = co_await backend->create(std::move(spec), Deadline::after(60s));
  auto opened = co_await LiveSandbox::open(must(std::move(enclosure)), Greeting::fresh, Deadline::after(60s));
  const auto sandbox = must(std::move(opened));
  auto files = sandbox->files();
  must(co_await files.write("/workspace/main.py", "print(42)\n"));
  std::vector<std::string> no_imports;
  must(co_await sandbox->start_zygote("python", "python3", std::move(no_imports), Deadline::after(60s)));
  const std::string where = "agent, " + target.backend + " with " + target.runtime;
  std::vector<Row> rows;
  ExecSpec nothing;
  nothing.argv.emplace_back("true");
  auto row = co_await through_agent(*sandbox, where, "true", nothing, "", rounds);
  rows.push_back(std::move(row));
  ExecSpec plain;
  plain.argv.emplace_back("python3");
  plain.argv.emplace_back("main.py");
  row = co_await through_agent(*sandbox, where, "python3 print(42)", plain, "42\n", rounds);
  rows.push_back(std::move(row));
  ExecSpec forked;
  forked.argv.emplace_back("main.py");
  forked.zygote = "python";
  row = co_await through_agent(*sandbox, where, "zygote print(42)", forked, "42\n", rounds);
  rows.push_back(std::move(row));
  Row resets{where, "reset and proof", {}};
  for (int i = 0; i < rounds; ++i) {
    must(co_await files.write("/workspace/left", "behind"));
    const auto start = Clock::now();
    must(co_await sandbox->reset(Deadline::after(60s)));
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    resets.ms.push_back(took.count());
  }
  rows.push_back(std::move(resets));
  must(co_await sandbox->destroy(Deadline::after(60s)));
  co_return rows;
}

// The Engine API as a client of Docker uses it.
class PlainDocker {
 public:
  PlainDocker(Executor executor, std::string socket)
      : client_(std::move(executor), http::UnixEndpoint{std::move(socket)}) {}

  Task<json::value> call(std::string method, std::string target, std::string body) {
    http::Request request;
    request.method = std::move(method);
    request.target = "/v1.41" + target;
    request.fields.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    auto response = co_await client_.send(std::move(request), Deadline::after(60s));
    const auto answer = must(std::move(response));
    if (!answer.success()) die("docker: " + answer.body);
    boost::system::error_code none;
    co_return json::parse(answer.body, none);
  }

  Task<> exec(std::string container, std::string argv) {
    const auto made = co_await call("POST", "/containers/" + container + "/exec",
                                    R"({"AttachStdout":true,"AttachStderr":true,"Cmd":)" + argv + "}");
    const std::string id(made.at("Id").as_string());
    (void)co_await call("POST", "/exec/" + id + "/start", R"({"Detach":false,"Tty":false})");
    const auto ended = co_await call("GET", "/exec/" + id + "/json", "");
    if (ended.at("ExitCode").as_int64() != 0) die("docker exec failed");
  }

 private:
  http::Client client_;
};

Task<std::vector<Row>> measure_docker(std::string runtime, std::string socket, int rounds) {
  PlainDocker docker(co_await asio::this_coro::executor, std::move(socket));
  const auto made = co_await docker.call(
      "POST", "/containers/create",
      R"({"Image":"cloche-test/debian","Cmd":["sleep","infinity"],"HostConfig":{"NetworkMode":"none","Runtime":")" +
          runtime + R"("}})");
  const std::string id(made.at("Id").as_string());
  (void)co_await docker.call("POST", "/containers/" + id + "/start", "");
  std::vector<Row> rows;
  const std::pair<std::string, std::string> programs[] = {{"true", R"(["true"])"},
                                                          {"python3 print(42)", R"x(["python3","-c","print(42)"])x"}};
  for (const auto& [what, argv] : programs) {
    Row row{"docker exec, " + runtime, what, {}};
    for (int i = -2; i < rounds; ++i) {
      const auto start = Clock::now();
      co_await docker.exec(id, argv);
      const std::chrono::duration<double, std::milli> took = Clock::now() - start;
      if (i >= 0) row.ms.push_back(took.count());
    }
    rows.push_back(std::move(row));
  }
  (void)co_await docker.call("DELETE", "/containers/" + id + "?force=1&v=1", "");
  co_return rows;
}

Task<> measure(asio::thread_pool& threads, int rounds, std::string socket) {
  auto rows = co_await measure_docker("runc", socket, std::max(10, rounds / 10));
  const double docker_true = p50(rows[0]);
  const double docker_python = p50(rows[1]);
  const Target targets[] = {
      {"oci", "crun"}, {"oci", "runc"}, {"oci", "runsc"}, {"docker", "runc"}, {"docker", "runsc"}};
  for (const Target& target : targets) {
    auto more = co_await measure_target(target, threads, target.is_gvisor() ? std::max(10, rounds / 10) : rounds);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::printf("| %-34s | %-22s | p50 (ms) | p99 (ms) | faster  |\n|---|---|---|---|---|\n", "how", "what");
  for (Row& row : rows) {
    const double reference = row.where.starts_with("docker exec") || row.what.starts_with("reset") ? 0
                             : row.what == "true"                                                  ? docker_true
                                                                                                   : docker_python;
    print(row, reference);
  }
}

}  // namespace
}  // namespace cloche

int main(int argc, char** argv) {
  using namespace cloche;
  const char* host = std::getenv("CLOCHE_TEST_DOCKER_HOST");
  if (host == nullptr || !std::string_view(host).starts_with("unix://"))
    die("CLOCHE_TEST_DOCKER_HOST names no engine on a unix socket");
  const int rounds = argc > 1 ? std::max(10, std::atoi(argv[1])) : 200;
  asio::io_context io{1};
  asio::thread_pool threads{2};
  asio::co_spawn(io, measure(threads, rounds, std::string(host).substr(7)), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
}
