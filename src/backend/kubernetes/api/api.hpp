// Api: requests to the API server of a cluster.
//
// What a server turns away for now is repeated within its deadline: 429 after the time that it asks for, 500, 502, 503
// and 504 with growing pauses. So is a request without a response: all of them may be sent twice, because objects are
// created by a name that this process has chosen. Errors are typed as in api/status.hpp; `unavailable` and `timeout` if
// the server does not respond.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kubernetes/access/credentials.hpp"
#include "backend/kubernetes/api/pace.hpp"
#include "backend/kubernetes/options.hpp"
#include "core/async/task.hpp"
#include "http/address.hpp"
#include "http/client.hpp"
#include "http/client_websocket.hpp"
#include "json/lenient_json.hpp"

namespace cloche::kubernetes {

struct Listed {
  std::vector<json::value> items;
  std::string resource_version;
};

class Api {
 public:
  Api(Executor executor, asio::thread_pool& pool, const KubernetesSettings& settings);

  // For messages: where the server is.
  std::string describe() const;
  const std::string& namespace_name() const { return namespace_; }
  // `/api/v1/namespaces/NAMESPACE/pods` and what follows.
  std::string pods(std::string_view name = "", std::string_view subresource = "") const;

  Task<Result<json::value>> get(std::string path, Deadline deadline);
  // `was_sent`, if given, is set when the server may have done it although no response came.
  Task<Result<json::value>> create(std::string path, json::value body, Deadline deadline, bool* was_sent = nullptr);
  // `type`: merge, or json, which is a list of operations.
  enum class PatchType { merge, json };
  Task<Result<json::value>> patch(std::string path, PatchType type, json::value body, Deadline deadline);
  // Success also if there is none, or another one with this name. `uid`: of the object that is meant; empty: any.
  Task<Status> remove(std::string path, std::string uid, Deadline deadline);
  // All pages. `query`: such as labelSelector=..., encoded.
  Task<Result<Listed>> list(std::string path, std::string query, Deadline deadline);
  // Events from this version on. `expired` is set instead of an error if the version is too old: list again.
  struct Watching {
    std::unique_ptr<http::ResponseStream> events;
    bool is_expired = false;
  };
  Task<Result<Watching>> watch(std::string path, std::string query, std::string resource_version, Deadline deadline);
  // The streams of a program that is started in a container.
  Task<Result<std::unique_ptr<http::ClientWebSocket>>> exec(std::string pod, std::string container,
                                                            std::vector<std::string> argv, Deadline deadline);

 private:
  struct Call {
    std::string method;
    std::string target;
    std::string body;
    std::string type = "application/json";
    bool* was_sent = nullptr;
  };
  struct Connected {
    std::shared_ptr<http::Client> client;
    std::string token;
  };
  Task<Result<Connected>> connect(Deadline deadline);
  // Any response that does not pass by itself, 401 and errors included.
  Task<Result<http::Response>> send(Call call, Deadline deadline);
  Task<Result<json::value>> send_for_object(Call call, Deadline deadline);
  http::Request request_for(const Call& call, const std::string& token) const;

  Executor executor_;
  std::string namespace_;
  std::string missing_;  // why there is nothing to talk to
  http::Address address_;
  std::unique_ptr<Credentials> credentials_;
  Pace pace_;
  std::shared_ptr<http::Client> client_;
  http::TlsFiles client_files_;  // of `client_`
};

}  // namespace cloche::kubernetes
