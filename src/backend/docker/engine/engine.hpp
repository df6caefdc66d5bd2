// Engine: a client of one Docker engine, over HTTP. It finds the API version, sends calls, and turns every response
// that a call does not accept into an Error with method, path, status and the engine's message.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/docker/engine/api_version.hpp"
#include "http/client.hpp"
#include "json/lenient_json.hpp"

namespace cloche::docker {

using Query = std::vector<std::pair<std::string, std::string>>;

// Everything but letters, digits and -._~ as %XX.
std::string percent_encode(std::string_view text);

// `path?name=value&…`, names and values encoded.
std::string with_query(std::string path, const Query& query);

struct Call {
  std::string method;
  std::string path;  // without the version; parts that are not ours already encoded
  Query query;
  std::optional<json::value> body;
  std::string content_type = "application/json";
  std::string raw_body;           // instead of `body`
  http::BodySource source;        // instead of both, streamed
  std::vector<unsigned> accepts;  // statuses that are an answer; everything else is an error
  Deadline::Clock::duration patience = std::chrono::seconds(60);  // longest silence of the engine
};

struct Answer {
  unsigned status = 0;
  json::value body;  // null when the engine said nothing
};

class Engine {
 public:
  Engine(Executor executor, http::Endpoint endpoint);

  const http::Endpoint& endpoint() const { return client_.endpoint(); }

  // `unavailable` with advice when no engine answers; the engine's own errors by their status: 400 is
  // invalid_argument, 404 not_found, 409 already_exists, and so on.
  Task<Result<Answer>> call(Call call, Deadline deadline);

  // The same for a response that is not JSON.
  Task<Result<std::string>> call_bytes(Call call, Deadline deadline);

  // The same for a response that is a sequence of JSON values, one per line: each is passed to `line`, whose error ends
  // it. An engine reports failures during the work in such a line, after it has sent status 200; they become errors,
  // too.
  using LineSink = std::function<Status(const json::value& line)>;
  Task<Status> call_lines(Call call, LineSink line, Deadline deadline);

  // The same for a call that turns the connection into a raw stream.
  Task<Result<http::Upgrade>> call_upgrade(Call call, Deadline deadline);

  // The version used with this engine; requested once.
  Task<Result<ApiVersion>> api_version(Deadline deadline);

 private:
  Task<Result<http::Request>> request_for(Call& call, Deadline deadline);
  Task<Result<http::Response>> send(Call& call, Deadline deadline);
  Error explain(const Call& call, Error error);

  http::Client client_;
  std::optional<ApiVersion> version_;
};

// The error for an answer that is not accepted.
Error engine_error(const Call& call, unsigned status, std::string_view body);

// The error of a call that was valid when it was sent: the engine is in trouble, or the object of the call disappeared
// meanwhile. That is `unavailable` and may pass. A passed deadline and unsupported features keep their codes.
Error as_trouble_of_engine(Error error);

}  // namespace cloche::docker
