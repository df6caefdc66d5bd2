#include "cli/client/run_stream.hpp"

#include <optional>

#include "cli/client/event_parser.hpp"
#include "core/async/event.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

// The service sends a heartbeat every 15 seconds.
constexpr std::chrono::seconds longest_silence{60};
// A service that is restarted is back within some seconds; one that is gone is not waited for.
constexpr int most_attempts = 4;
constexpr std::chrono::milliseconds first_pause{200};

ErrorCode code_named(std::string_view name) {
  constexpr ErrorCode all[] = {ErrorCode::invalid_argument,  ErrorCode::not_found,     ErrorCode::already_exists,
                               ErrorCode::permission_denied, ErrorCode::limit_reached, ErrorCode::unsupported,
                               ErrorCode::unavailable,       ErrorCode::timeout,       ErrorCode::cancelled,
                               ErrorCode::sandbox_lost,      ErrorCode::protocol};
  for (const ErrorCode code : all) {
    if (to_string(code) == name) return code;
  }
  return ErrorCode::internal;
}

class Following {
 public:
  explicit Following(RunFollower follower) : follower_(std::move(follower)) {}

  bool has_begun() const { return !place_.run.empty(); }
  bool has_ended() const { return end_.has_value(); }
  const RunPlace& place() const { return place_; }
  // A half event of the line that was lost comes again, whole.
  void begin_line() { parser_ = EventParser(); }
  // Where the next line continues; empty at the beginning.
  const std::string& last_id() const { return last_id_; }
  // The follower's reason to stop.
  const std::optional<Error>& refused() const { return refused_; }
  Result<json::object> take_end() { return std::move(*end_); }

  Task<Status> take(std::string_view piece) {
    CLOCHE_CO_TRY(const std::vector<StreamEvent> events, parser_.feed(piece));
    for (const StreamEvent& event : events) {
      auto data = json::parse_object(event.data);
      if (!data) co_return fail(ErrorCode::protocol, "the service sent an event that is not JSON");
      std::string name = event.name;
      auto taken = co_await take_event(std::move(name), std::move(*data));
      if (!taken) {
        refused_ = taken.error();
        co_return taken;
      }
      last_id_ = event.id;
    }
    co_return Status{};
  }

 private:
  Task<Status> take_event(std::string name, json::object data) {
    if (name == "run" && !has_begun()) {
      place_.session.tenant = json::text(data, "tenant_id");
      place_.session.session = json::text(data, "session_id");
      place_.run = json::text(data, "run_id");
      if (follower_.began) follower_.began(place_);
    } else if (name == "run") {
      co_return Status{};  // the line was taken up again
    }
    if (name == "stdout" || name == "stderr") {
      const Lane lane = name == "stdout" ? Lane::out : Lane::err;
      std::string bytes = json::bytes(data, "text");
      if (follower_.printed) CLOCHE_CO_CHECK(co_await follower_.printed(lane, std::move(bytes)));
    }
    if (name == "error") end_ = fail(code_named(json::text(data, "code")), json::text(data, "message"));
    if (name == "result") end_ = data;
    if (follower_.happened) CLOCHE_CO_CHECK(co_await follower_.happened(std::move(name), std::move(data)));
    co_return Status{};
  }

  RunFollower follower_;
  EventParser parser_;
  RunPlace place_;
  std::string last_id_;
  std::optional<Error> refused_;
  std::optional<Result<json::object>> end_;
};

Task<Status> read_line(Service& service, http::Request request, Following& following) {
  request.patience = longest_silence;
  request.body_limit = Bytes{std::numeric_limits<std::uint64_t>::max()};
  request.fields.emplace_back("Accept", "text/event-stream");
  if (!following.last_id().empty()) request.fields.emplace_back("Last-Event-ID", following.last_id());
  following.begin_line();
  http::BodySink sink = [&following](std::string_view piece) -> Task<Status> {
    auto taken = co_await following.take(piece);
    co_return taken;
  };
  auto answered = co_await service.send(std::move(request), std::move(sink), Deadline::never());
  if (!answered) co_return fail(std::move(answered).error());
  co_return Status{};
}

}  // namespace

http::Request events_request(const RunPlace& place) {
  http::Request request;
  request.method = "GET";
  request.target = place.target() + "/events";
  return request;
}

Task<Result<json::object>> follow_run(Service& service, http::Request request, RunFollower follower) {
  Following following(std::move(follower));
  auto pause = first_pause;
  for (int attempt = 0;; ++attempt) {
    const std::string before = following.last_id();
    auto read = co_await read_line(service, std::move(request), following);
    if (following.has_ended()) co_return following.take_end();
    if (following.refused()) co_return fail(*following.refused());
    if (!following.has_begun()) {
      if (read) co_return fail(ErrorCode::unavailable, service.place() + " closed the connection before the run began");
      co_return fail(std::move(read).error());
    }
    const bool gone = !read && read.error().code == ErrorCode::not_found;
    if (gone) {
      co_return fail(ErrorCode::unavailable,
                     "the service no longer knows the run: the service was restarted or the session was ended");
    }
    const bool can_go_on =
        read || read.error().code == ErrorCode::unavailable || read.error().code == ErrorCode::timeout;
    if (following.last_id() != before) {
      attempt = 0;
      pause = first_pause;
    }
    if (!can_go_on || attempt >= most_attempts) {
      Error error =
          read ? Error{ErrorCode::unavailable, service.place() + " keeps closing the connection"} : read.error();
      co_return fail(std::move(error).at("the result of the run is unknown"));
    }
    co_await pause_for(pause);
    pause *= 2;
    request = events_request(following.place());
  }
}

}  // namespace cloche::cli
