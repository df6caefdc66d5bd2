// Credentials: what a request to the cluster carries, kept current: token files are read again when they change, and
// plugins are run again before what they printed expires.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "backend/kubernetes/access/kubeconfig.hpp"
#include "core/async/event.hpp"
#include "core/async/task.hpp"
#include "http/endpoint.hpp"

namespace cloche::kubernetes {

struct Login {
  http::TlsFiles files;
  std::string token;  // empty: none
};

class Credentials {
 public:
  // The pool reads files and runs plugins.
  Credentials(Executor executor, asio::thread_pool& pool, ClusterAccess access);

  const ClusterAccess& access() const { return access_; }

  // permission_denied if a plugin fails, invalid_argument for a token file that cannot be read.
  Task<Result<Login>> login(Deadline deadline);
  // The server did not accept the last login: the next one is made again.
  void forget();

 private:
  Task<Result<Login>> login_by_plugin(Deadline deadline);
  Result<std::string> token_of_file();

  asio::thread_pool& pool_;
  ClusterAccess access_;
  std::string token_;
  std::string token_state_;  // of the file when it was read
  std::optional<PluginCredential> printed_;
  std::chrono::system_clock::time_point until_;
  bool is_running_ = false;
  Event ran_;
};

// Runs the plugin. Blocking; bounded by the deadline, and by 1 MiB of output.
Result<PluginCredential> run_plugin(const CredentialPlugin& plugin, Deadline deadline);

}  // namespace cloche::kubernetes
