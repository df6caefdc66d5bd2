// SetUp: what a sandbox of a service needs before it is one of ours: the agent, directories, a user, the relay.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "backend/e2b/remote.hpp"
#include "sandbox/spec.hpp"

namespace cloche::e2b {

class SetUp {
 public:
  // The pool reads the agent.
  SetUp(asio::thread_pool& pool, std::string agent_path) : pool_(pool), agent_path_(std::move(agent_path)) {}

  // Uploads the agent, prepares the file system and starts the relay. No argument passes through a shell.
  Task<Status> run(const Remote& remote, const SandboxSpec& spec, Deadline deadline);

 private:
  Task<Result<std::shared_ptr<const std::string>>> agent();

  asio::thread_pool& pool_;
  std::string agent_path_;
  std::shared_ptr<const std::string> agent_;
};

}  // namespace cloche::e2b
