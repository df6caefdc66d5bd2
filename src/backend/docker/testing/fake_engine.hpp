// FakeEngine: a server that answers as a Docker engine would, with one image and containers that only exist in its
// memory. A test replaces the answers it wants otherwise.
#pragma once

#include <map>
#include <string>

#include "backend/docker/engine/options.hpp"
#include "http/testing/scripted_server.hpp"
#include "json/lenient_json.hpp"

namespace cloche::docker::testing {

class FakeEngine {
 public:
  explicit FakeEngine(Executor executor);

  http::testing::ScriptedServer& server() { return server_; }
  // Options of a backend that talks to it.
  DockerOptions options() const;

  struct Container {
    std::string name;
    std::string state = "created";
    json::object body;
  };
  // Containers by id. A test may add, change or remove some.
  std::map<std::string, Container> containers;
  std::map<std::string, std::string> images;  // reference to id
  std::string warnings = "null";              // of every creation
  std::string runtimes = R"({"runc":{"path":"runc"},"crun":{"path":"/usr/bin/crun"}})";
  int removals = 0;

  // Answers with a container's attached stream: the head is sent, the rest is up to `then`.
  void on_attach(const http::testing::Handler& then);

 private:
  std::string agent_path() const { return server_.path() + ".agent"; }
  void answer_system();
  void answer_images();
  void answer_containers();
  json::value summary_of(const std::string& id, const Container& container) const;

  http::testing::ScriptedServer server_;
  int next_id_ = 0;
};

// The 8 bytes and what they announce.
std::string frame(char kind, std::string_view payload);

}  // namespace cloche::docker::testing
