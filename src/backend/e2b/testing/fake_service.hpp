// FakeService: a server that answers as an E2B service would, control plane and sandboxes on one socket. Its sandboxes
// exist only in its memory; their programs end at once, except the relay, and `dial`, which repeats what it is sent. A
// test replaces the answers it wants otherwise.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/e2b/options.hpp"
#include "core/async/event.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::e2b::testing {

class FakeService {
 public:
  explicit FakeService(Executor executor);

  http::testing::ScriptedServer& server() { return server_; }
  // Settings of a backend that talks to it.
  E2bSettings settings() const;

  struct Sandbox {
    std::map<std::string, std::string> metadata;
    std::string state = "running";
    std::int64_t lifetime = 0;
    int prolonged = 0;
    std::string agent;                               // what was uploaded
    std::vector<std::vector<std::string>> commands;  // what was started
  };
  // By the service's id. A test may add, change or remove some.
  std::map<std::string, Sandbox> sandboxes;
  std::size_t page_size = 100;

  // Called in place of the usual answer to a creation or a removal, if it is set.
  http::testing::Handler on_create;
  http::testing::Handler on_remove;
  // The usual answers.
  Task<> create(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  // Makes the sandbox that the request asks for, without an answer. Returns its id.
  std::string make(const http::testing::ReceivedRequest& request);

  // How a program of this name ends, if not with 0.
  std::map<std::string, int> exit_codes;

  // All streams of programs break off, without an end.
  void cut_streams();

 private:
  struct Program {
    explicit Program(const Executor& executor) : changed(executor) {}
    Event changed;
    std::deque<std::string> envelopes;
    bool is_cut = false;
  };
  Task<> answer_sandboxes(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_list(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_start(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Task<> answer_input(http::testing::ReceivedRequest request, http::testing::Peer& peer);
  Sandbox* sandbox_of(const http::testing::ReceivedRequest& request);

  Executor executor_;
  http::testing::ScriptedServer server_;
  std::map<std::uint32_t, std::shared_ptr<Program>> programs_;
  int next_id_ = 0;
  std::uint32_t next_pid_ = 100;
};

// The value of a field of a request's head; empty if there is none.
std::string field_of(const http::testing::ReceivedRequest& request, std::string_view name);
// An event of a program, in its envelope.
std::string event(std::string_view json);
// The head of a stream, and a piece of it.
std::string stream_head();
std::string chunk(std::string_view bytes);

}  // namespace cloche::e2b::testing
