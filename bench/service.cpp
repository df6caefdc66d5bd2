// The service under load: requests a second, p50 and p99 of /execute (Python print(42)), /bash and /read, at 1, 16 and
// 200 clients, each on a connection of its own, over 16 sessions. Starts a server of its own on oci with crun.
//
//   build/dev/bench/service PROGRAM [seconds]      PROGRAM: a build of cloche
#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "http/client.hpp"
#include "support/command.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int session_count = 16;

struct Tally {
  std::vector<double> milliseconds;  // of those that were answered with 200
  std::map<unsigned, int> others;    // by status; 0: the connection failed
};

struct Call {
  const char* path;
  std::string fields;  // of the JSON body, beside the session's
};

double at(const std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

http::Request request_of(const Call& call, int client) {
  http::Request request;
  request.method = "POST";
  request.target = call.path;
  request.body = R"({"session_id":"s)" + std::to_string(client % session_count) + "\"," + call.fields + "}";
  request.fields.emplace_back("Content-Type", "application/json");
  return request;
}

Task<> be_client(Executor executor, std::string socket, Call call, int number, Clock::time_point end, Tally& tally) {
  http::Client client(executor, http::UnixEndpoint{socket});
  while (Clock::now() < end) {
    http::Request request = request_of(call, number);
    const auto began = Clock::now();
    auto response = co_await client.send(std::move(request), Deadline::after(60s));
    const unsigned status = response ? response->status : 0;
    if (status == 200) {
      tally.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    } else {
      ++tally.others[status];
    }
  }
}

void measure(const std::string& socket, const Call& call, int clients, std::chrono::seconds length) {
  asio::io_context io{1};
  Tally tally;
  const auto began = Clock::now();
  for (int i = 0; i < clients; ++i) {
    asio::co_spawn(io, be_client(io.get_executor(), socket, call, i, began + length, tally), asio::detached);
  }
  io.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::ranges::sort(tally.milliseconds);
  std::printf("%-10s %4d clients  %8.1f /s  p50 %8.2f ms  p99 %8.2f ms", call.path, clients,
              static_cast<double>(tally.milliseconds.size()) / seconds, at(tally.milliseconds, 0.5),
              at(tally.milliseconds, 0.99));
  for (const auto& [status, count] : tally.others) std::printf("  %u: %d", status, count);
  std::printf("\n");
}

std::string memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return line.substr(line.find_first_of("0123456789"));
  }
  return "?";
}

int run(const std::string& program, std::chrono::seconds length) {
  const testing_support::Scratch scratch;
  const std::string socket = scratch.path() / "s";
  const std::string config = scratch.path() / "cloche.yml";
  std::ofstream(config) << "profiles:\n  session:\n    runtime: crun\n    work_dir: /workspace\n"
                           "    limits: {memory: 512m, cpus: 2, pids: 256}\n"
                           "    zygotes: [{name: python}]\n    pool: {pool_size: 2, scale_limit: 20}\n";
  testing_support::CommandSpec spec;
  spec.argv = {program,       "serve",
               "--config",    config,
               "--listen",    "unix:" + socket,
               "--log-level", "error",
               "--backend",   "oci",
               "--state-dir", scratch.path() / "state",
               "--run-dir",   scratch.path() / "run",
               "--instance",  "bench"};
  testing_support::Command server(spec);
  if (!server.wait_for("listening")) {
    std::fprintf(stderr, "%s\n", server.finish().err.c_str());
    return 1;
  }
  const Call write{"/write", R"("path":"file.txt","content":"one\ntwo\n")"};
  measure(socket, write, session_count, 2s);
  for (const Call& call : {Call{"/execute", R"_("language":"python","code":"print(42)")_"},
                           Call{"/bash", R"("command":"echo 42")"}, Call{"/read", R"("path":"file.txt")"}}) {
      for (const int clients : {1, 16, 200}) measure(socket, call, clients, length);
    }
    std::printf("server: %s resident\n", memory_of(server.pid()).c_str());
    server.signal(SIGTERM);
    return server.finish().exit_code;
}

}  // namespace
}  // namespace cloche

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PROGRAM [seconds]\n", argv[0]);
    return 2;
  }
  return cloche::run(argv[1], std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 5));
}
