// Surroundings: what every scenario works with: where sandboxes can be made on this host, a place for files, a loop.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/report/report.hpp"
#include "core/async/task.hpp"
#include "http/endpoint.hpp"

namespace cloche::bench {

struct Options {
  Length length = Length::full;
  std::string program;             // cloche itself: what is measured as a service
  std::string docker_host;         // empty: as the docker command finds it
  std::string docker_image;        // one with Python, and in the engine already
  std::string allocation_counter;  // bench/count_allocations; empty: allocations are not counted
  std::string label;
};

// A backend and a runtime.
struct Target {
  std::string backend;
  std::string runtime;

  std::string name() const { return backend + "/" + runtime; }
  // An engine makes its sandboxes, from an image.
  bool has_engine() const;
  bool is_gvisor() const { return runtime == "runsc"; }
};

// A Docker engine that answers and has the image.
struct DockerEngine {
  http::Endpoint endpoint;
  std::string host;  // as given to Cloche
  std::string image;
  std::string api_prefix;  // /v1.41
  std::string version;
  std::vector<std::string> runtimes;
};

class Surroundings {
 public:
  // Inspects the host. What is missing is in lacks().
  explicit Surroundings(Options options);
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  const Options& options() const { return options_; }
  // One figure for a quick run, another for a full one.
  template <class T>
  T pick(T quick, T full) const {
    return options_.length == Length::quick ? quick : full;
  }

  const std::vector<Target>& targets() const { return targets_; }
  // The kernel-sharing one of the embedded backend that goals are about: crun, else runc.
  std::optional<Target> main_target() const;
  const std::optional<DockerEngine>& docker() const { return docker_; }
  const std::vector<Lack>& lacks() const { return lacks_; }

  // A new directory of this name; all go with the object.
  std::filesystem::path make_directory(const std::string& name);

  Executor executor() { return io_.get_executor(); }
  asio::thread_pool& threads() { return threads_; }

  // Runs a task to its end on the one thread that there is.
  template <class T>
  T await(Task<T> task) {
    std::optional<T> result;
    std::exception_ptr failure;
    bool done = false;
    asio::co_spawn(io_, std::move(task), [&](std::exception_ptr error, T value) {
      failure = error;
      result.emplace(std::move(value));
      done = true;
    });
    turn_while([&] { return !done; });
    if (failure) std::rethrow_exception(failure);
    return std::move(*result);
  }
  // Starts one that runs whenever the loop turns. What it refers to must outlive it, and it must not throw.
  void start(Task<> task);
  void turn_while(const std::function<bool()>& wanted);

 private:
  void look_for_oci();
  void look_for_docker();
  Task<Result<DockerEngine>> ask_engine();

  Options options_;
  asio::io_context io_{1};
  asio::thread_pool threads_{2};
  std::filesystem::path scratch_;
  std::vector<Target> targets_;
  std::optional<DockerEngine> docker_;
  std::vector<Lack> lacks_;
};

// Progress messages, on stderr.
void tell(const std::string& words);

}  // namespace cloche::bench
