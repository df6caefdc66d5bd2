// FakeCluster: a server that responds as a Kubernetes API server would. Its pods exist only in its memory; they run at
// once, and a program in one repeats what it is sent. A test replaces the responses it wants otherwise.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/kubernetes/options.hpp"
#include "core/async/event.hpp"
#include "http/testing/scripted_server.hpp"
#include "json/lenient_json.hpp"

namespace cloche::kubernetes::testing {

class FakeCluster {
 public:
  explicit FakeCluster(Executor executor);

  http::testing::ScriptedServer& server() { return server_; }
  // Settings of a backend that talks to it.
  KubernetesSettings settings() const;

  // By name. Change them by put() and erase(), so that watches report it.
  std::map<std::string, json::object> pods;
  void put(json::object pod);
  void erase(const std::string& name);
  // The status that a new pod gets.
  json::object new_status;
  static json::object running_status();

  // All watches end here; as 410 Gone, if it is asked for.
  void end_watches();
  void expire_watches();
  // All streams of programs break off.
  void cut_streams();

  // Called in place of the usual response to a creation, if it is set.
  http::testing::Handler on_create;
  // Makes the pod that the request asks for, without a response.
  json::object make(const http::testing::ReceivedRequest& request);

  int version() const { return version_; }

 private:
  struct Change {
    int version = 0;
    std::string type;
    json::object pod;
  };
  struct Streams {
    explicit Streams(const Executor& executor) : changed(executor) {}
    Event changed;
    int generation = 0;
  };
  void add_handlers();
  Task<> answer_list(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_watch(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_one(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_exec(http::testing::ReceivedRequest request, http::testing::Peer& peer);

  Executor executor_;
  http::testing::ScriptedServer server_;
  int version_ = 100;
  int oldest_ = 0;  // watches from before are answered with 410
  std::deque<Change> changes_;
  std::shared_ptr<Streams> watches_;
  std::shared_ptr<Streams> programs_;
};

// A `Status` object.
std::string status_body(int code, const std::string& reason, const std::string& message);

}  // namespace cloche::kubernetes::testing
