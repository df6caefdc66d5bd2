// Docker, used as its clients use it: `docker exec` and `docker run` through the Engine API, without the command line,
// whose own start would count against it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/client.hpp"
#include "bench/surroundings.hpp"
#include "http/client.hpp"

namespace cloche::bench {

// The engine, asked plainly.
class EngineCalls {
 public:
  EngineCalls(Surroundings& surroundings, const DockerEngine& engine);

  // The body of an answer of success; an error with the engine's words for any other.
  Task<Result<std::string>> call(std::string method, std::string path, std::string body);

 private:
  http::Client client_;
  std::string prefix_;
};

// A container that runs until the object is destroyed. It has no network and no limits.
class DockerContainer {
 public:
  static Result<std::unique_ptr<DockerContainer>> start(Surroundings& surroundings, const std::string& runtime);
  ~DockerContainer();
  DockerContainer(const DockerContainer&) = delete;
  DockerContainer& operator=(const DockerContainer&) = delete;

  const std::string& id() const { return id_; }

 private:
  DockerContainer(Surroundings& surroundings, std::string id) : surroundings_(surroundings), id_(std::move(id)) {}

  Surroundings& surroundings_;
  std::string id_;
};

// `docker exec` of print(42): exec created, started, its output read to the end.
class DockerExecClient final : public Client {
 public:
  DockerExecClient(Surroundings& surroundings, const DockerContainer& container);
  Task<Status> run_once() override;

 private:
  EngineCalls calls_;
  std::string container_;
};

// `docker run` of a program: created, started, waited for, its output read. The container that is left is for remove(),
// which is not part of the run.
class DockerRun {
 public:
  DockerRun(Surroundings& surroundings, std::string runtime, std::vector<std::string> argv, std::string output);
  ~DockerRun() { remove(); }
  DockerRun(const DockerRun&) = delete;
  DockerRun& operator=(const DockerRun&) = delete;

  Status run();
  void remove();

 private:
  Task<Status> run_task();

  Surroundings& surroundings_;
  EngineCalls calls_;
  std::string body_;
  std::string output_;
  std::string left_;
};

}  // namespace cloche::bench
