#include "support/e2b_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/ids.hpp"
#include "core/unique_fd.hpp"
#include "support/target.hpp"

namespace cloche::testing_support {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{90};

// The template `base`: its sandboxes have root, who starts the agent, and all the directories that specs of tests name.
// The limits are beyond those that tests ask for.
std::string configuration(const std::filesystem::path& place, const std::string& instance) {
  const std::string at = place.string();
  return "backend: oci\nstate_dir: " + at + "/state\nrun_dir: " + at + "/run\ninstance: " + instance +
         "\nserver:\n  listen: [127.0.0.1:0]\n  auth: none\n"
         "sessions:\n  most: 16\n  workspace: memory\n"
         "log:\n  level: warn\n"
         "profiles:\n"
         "  session:\n    runtime: crun\n    pool: {pool_size: 0, scale_limit: 2}\n"
         "  base:\n    runtime: crun\n    root: true\n    work_dir: /workspace\n"
         "    limits: {memory: 1g, cpus: 2, pids: 4096, file_size: 1t, open_files: 4096, work_dir: 256m, tmp_dir: "
         "256m,"
         " shm_dir: 64m}\n"
         "    pool: {pool_size: 0, scale_limit: 16, running_timeout: 24h}\n";
}

class Server {
 public:
  Result<std::string> start() {
    const auto file = scratch_.path() / "cloche.yml";
    std::ofstream(file) << configuration(scratch_.path(), "e2b-" + random_hex(4));
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return fail_errno("pipe");
    in_.reset(in[1]);
    const UniqueFd in_read(in[0]);
    const UniqueFd out_read(out[0]);
    UniqueFd out_write(out[1]);
    pid_ = ::fork();
    if (pid_ < 0) return fail_errno("fork");
    if (pid_ == 0) {
      ::dup2(in_read.get(), 0);
      ::dup2(out_write.get(), 1);
      // It ends with this program, however that ends.
      ::execl(CLOCHE_TEST_CLOCHE, CLOCHE_TEST_CLOCHE, "serve", "--config", file.c_str(), "--json", "--end-with-stdin",
              nullptr);
      ::_exit(127);
    }
    out_write.reset();
    return address_from(out_read.get());
  }

  ~Server() {
    in_.reset();
    if (pid_ <= 0) return;
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (Clock::now() > deadline) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        return;
      }
      ::usleep(10'000);
    }
  }

 private:
  static Result<std::string> address_from(int fd) {
    const auto deadline = Clock::now() + patience;
    std::string printed;
    for (;;) {
      const auto at = printed.find("http://");
      const auto end = printed.find('"', at == std::string::npos ? 0 : at);
      if (at != std::string::npos && end != std::string::npos) return printed.substr(at, end - at);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd polled{fd, POLLIN, 0};
      if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0)
        return fail(ErrorCode::timeout, "the server of the tests does not listen: " + printed);
      char room[4096];
      const ssize_t count = ::read(fd, room, sizeof room);
      if (count <= 0) return fail(ErrorCode::unavailable, "the server of the tests has ended: " + printed);
      printed.append(room, static_cast<std::size_t>(count));
    }
  }

  Scratch scratch_;
  UniqueFd in_;
  pid_t pid_ = -1;
};

}  // namespace

std::optional<Lack> lack_of_e2b_server() {
  if (::access(CLOCHE_TEST_CLOCHE, X_OK) != 0) return Lack{"cloche", "the program `cloche` is not built"};
  return std::nullopt;
}

Result<std::string> e2b_server_url() {
  static Server server;
  static const Result<std::string> url = server.start();
  return url;
}

}  // namespace cloche::testing_support
