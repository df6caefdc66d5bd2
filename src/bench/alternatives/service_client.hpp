// Cloche itself, asked over HTTP on the socket of a real service.
#pragma once

#include <string>

#include "bench/client.hpp"
#include "bench/surroundings.hpp"
#include "http/client.hpp"

namespace cloche::bench {

// Calls of the service that are not measured as a run of print(42).
class ServiceCalls {
 public:
  ServiceCalls(Surroundings& surroundings, const std::string& socket)
      : client_(surroundings.executor(), http::UnixEndpoint{socket}) {}

  // The body of an answer of success; an error with the service's words for any other.
  Task<Result<std::string>> post(std::string target, std::string body);
  Task<Result<std::string>> get(std::string target);
  http::Client& client() { return client_; }

 private:
  Task<Result<std::string>> send(http::Request request);

  http::Client client_;
};

// POST /execute of print(42) in a session of this name, which the first run makes.
class ExecuteClient final : public Client {
 public:
  ExecuteClient(Surroundings& surroundings, const std::string& socket, std::string session);
  Task<Status> run_once() override;

 private:
  ServiceCalls calls_;
  std::string body_;
};

}  // namespace cloche::bench
