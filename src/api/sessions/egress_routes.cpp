#include "api/sessions/egress_routes.hpp"

#include <charconv>

#include "api/session_access.hpp"
#include "api/session_auth_check.hpp"
#include "core/async/first_of.hpp"
#include "egress/books/books.hpp"
#include "http/server/answer/event_stream.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

using egress::Books;

Result<std::uint64_t> read_number(std::string_view text, std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::invalid_argument, std::string(name) + " must be the number of an event");
  }
  return number;
}

struct EgressQuery {
  std::uint64_t after = 0;
  bool follow = false;
};

Result<EgressQuery> read_egress_query(const http::Exchange& exchange) {
  CLOCHE_TRY(const http::Query query, exchange.query());
  EgressQuery wanted;
  const std::string_view follow = query.find("follow").value_or("0");
  if (follow != "0" && follow != "1") return fail(ErrorCode::invalid_argument, "follow must be 0 or 1");
  wanted.follow = follow == "1";
  if (const auto after = query.find("after")) {
    CLOCHE_TRY(wanted.after, read_number(*after, "after"));
  }
  if (const auto last_seen = exchange.field("Last-Event-ID"); wanted.follow && !last_seen.empty()) {
    CLOCHE_TRY(wanted.after, read_number(last_seen, "Last-Event-ID"));
  }
  return wanted;
}

http::ServerEvent server_event(const egress::EgressEvent& event) {
  http::ServerEvent sent;
  sent.name = "egress";
  sent.id = std::to_string(event.number);
  sent.data = to_json(event);
  return sent;
}

http::ServerEvent last_error(const Revoked& revoked) {
  json::object body;
  body["code"] = revoked.code;
  body["message"] = revoked.message;
  http::ServerEvent event;
  event.name = "error";
  event.data = write_json(body);
  return event;
}

Task<Status> send_events(const Call& call, http::EventStream& stream, std::shared_ptr<Books> books,
                         std::uint64_t after) {
  SessionAuthCheck auth_check(call);
  for (;;) {
    if (const auto out = auth_check.check()) {
      http::ServerEvent last = last_error(*out);
      co_return co_await stream.send(std::move(last));
    }
    const bool ended = books == nullptr || books->closed();
    if (books) {
      for (const egress::EgressEvent& event : books->after(after)) {
        after = event.number;
        http::ServerEvent sent = server_event(event);
        CLOCHE_CO_CHECK(co_await stream.send(std::move(sent)));
      }
    }
    if (ended) co_return Status{};
    const auto waited = co_await first_of(books->wait_after(after), call.exchange.wait_until_server_stops(),
                                          auth_check.wait_until_due());
    if (waited.index() == 1) co_return Status{};
  }
}

Task<Status> answer_list(Call& call, const std::shared_ptr<Books>& books, std::uint64_t after) {
  std::string body = "{\"events\":[";
  if (books) {
    for (const char* separator = ""; const egress::EgressEvent& event : books->after(after)) {
      body += separator + to_json(event);
      separator = ",";
    }
  }
  body += "]}";
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  co_return co_await call.exchange.respond(200, std::move(fields), std::move(body));
}

Task<Status> show_egress(session::SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const EgressQuery wanted, read_egress_query(call.exchange));
  std::shared_ptr<Books> books;
  session::Admission following;
  {
    // A reader does not keep the session from being idle, nor from ending.
    CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
    books = use->lease().egress_books();
    if (wanted.follow) {
      CLOCHE_CO_TRY(following, use->admit_stream());
    }
  }
  if (!wanted.follow) co_return co_await answer_list(call, books, wanted.after);
  std::function<Task<Status>(http::EventStream&)> body = [&](http::EventStream& stream) {
    return send_events(call, stream, books, wanted.after);
  };
  auto served = co_await http::serve_events(call.exchange, std::move(body));
  co_return served;
}

}  // namespace

void add_egress_routes(CallRouter& router, session::SessionStore& store) {
  router.add("GET", "/sessions/{tenant}/{session}/egress", [&store](Call& call) { return show_egress(store, call); });
}

}  // namespace cloche::api
