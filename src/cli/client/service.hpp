// Service: a running service of Cloche, called over HTTP. Errors say what to do about them.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "http/client.hpp"

namespace cloche::cli {

struct ServerAccess {
  http::Endpoint endpoint;
  std::string token;  // empty: none is shown
};

// A path or query with everything but letters, digits and `-._~` escaped.
std::string percent_encoded(std::string_view text);

class Service {
 public:
  Service(Executor executor, ServerAccess access);

  // In a form for people.
  std::string place() const;

  // Answers with an error status are errors here. The body is JSON.
  Task<Result<boost::json::value>> get(std::string target);
  Task<Result<boost::json::value>> post(std::string target, boost::json::value body);
  Task<Result<boost::json::value>> remove(std::string target);

  // The same for any request; the body is passed to the sink, if there is one, as it arrives.
  Task<Result<http::Response>> send(http::Request request, http::BodySink sink, Deadline deadline);
  // An answer with an error status is an answer.
  Task<Result<http::Response>> ask(http::Request request, http::BodySink sink, Deadline deadline);
  // Without a stream it is an error.
  Task<Result<http::Upgrade>> upgrade(http::Request request, std::string protocol, Deadline deadline);

 private:
  void sign(http::Request& request) const;
  Task<Result<boost::json::value>> call(http::Request request);
  Task<Error> explained(Error error);

  Executor executor_;
  std::string token_;
  http::Client client_;
};

}  // namespace cloche::cli
