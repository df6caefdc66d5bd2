// A server whose requests all go to envd of one session, and clients of it.
#pragma once

#include <boost/json/value.hpp>

#include "dialect/e2b/envd/service.hpp"
#include "http/server/server.hpp"
#include "http/server/testing/raw_client.hpp"
#include "sessions/with_store.hpp"

namespace cloche {

struct Calling {
  bool authorized = true;
  std::string token = "token";
  std::string user;
};

// A stream of a client, as it comes.
class OpenStream {
 public:
  explicit OpenStream(std::unique_ptr<http::testing::RawClient> client) : client_(std::move(client)) {}

  // Waits until this text has come after what was waited for before; false if the connection ends first.
  Task<bool> wait_for(std::string text);
  // All of the rest.
  Task<std::string> rest();
  http::testing::RawClient& client() { return *client_; }
  const std::string& seen() const { return seen_; }

 private:
  std::unique_ptr<http::testing::RawClient> client_;
  std::string seen_;
  std::size_t at_ = 0;
};

class WithEnvd : public WithStore {
 protected:
  // Runs the body with a server for a session `s1`.
  void in_envd(std::function<Task<>(session::SessionStore&)> body);
  void in_envd(StoreSetup setup, std::function<Task<>(session::SessionStore&)> body);

  Task<std::unique_ptr<http::testing::RawClient>> connect();
  // A request and its whole response.
  Task<http::Response> ask(std::string method, std::string target, std::string fields, std::string body);
  // A unary call of Connect.
  Task<http::Response> call(std::string method, std::string message, std::string fields = "");
  // The beginning of a stream.
  Task<std::unique_ptr<OpenStream>> open(std::string method, std::string message, std::string fields = "");
  // A shell line, from its start to its end: all that the stream brought.
  Task<std::string> shell_stream(std::string line, std::string fields = "");

  Calling calling_;
  dialect::e2b::EnvdService envd_;
  std::optional<http::Server> server_;
  std::optional<auth::Quotas> quotas_;
};

// The message that starts a shell line.
std::string start_message(const std::string& line, const std::string& more = "");
// The process id in a stream's first event.
std::uint32_t pid_in(const std::string& stream);

}  // namespace cloche
