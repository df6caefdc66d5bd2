#include "service/run_api.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace cloche {

namespace json = boost::json;

namespace {

// Blocks of "name: value" lines; comments are heartbeats.
std::vector<SentEvent> parse_events(std::string_view text) {
  std::vector<SentEvent> all;
  while (!text.empty()) {
    const auto end = text.find("\n\n");
    if (end == text.npos) break;
    std::string_view block = text.substr(0, end);
    text.remove_prefix(end + 2);
    SentEvent event;
    std::string data;
    while (!block.empty()) {
      const std::string_view line = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(line.size() + 1, block.size()));
      const auto value = [&](std::string_view name) { return std::string(line.substr(name.size())); };
      if (line.starts_with("event: ")) event.name = value("event: ");
      if (line.starts_with("id: ")) event.id = value("id: ");
      if (line.starts_with("data: ")) data += value("data: ");
    }
    if (data.empty()) continue;
    event.data = json::parse(data).as_object();
    all.push_back(std::move(event));
  }
  return all;
}

}  // namespace

std::string text_in(const std::vector<SentEvent>& events, std::string_view stream) {
  std::string text;
  for (const SentEvent& event : events) {
    if (event.name == stream) text += std::string_view(event.data.at("text").as_string());
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<SentEvent>& events) {
  std::vector<std::string> names;
  for (const SentEvent& event : events) {
    if (names.empty() || names.back() != event.name) names.push_back(event.name);
  }
  return names;
}

bool RunApi::has_no_compiler() {
  if (target().backend != "docker") return false;
  [&] { CLOCHE_DOES_NOT_APPLY("the test engine's image has no gcc"); }();
  return true;
}

Task<Answered> RunApi::post(std::string route, json::object body) {
  if (!body.contains("session_id")) body["session_id"] = session_;
  std::string text = json::serialize(body);
  auto answered = co_await call("POST", std::move(route), std::move(text));
  co_return answered;
}

Task<Answered> RunApi::execute(std::string language, std::string code) {
  json::object body;
  body["language"] = language;
  body["code"] = code;
  auto answered = co_await post("/execute", std::move(body));
  co_return answered;
}

Task<Answered> RunApi::bash(std::string command) {
  json::object body;
  body["command"] = command;
  auto answered = co_await post("/bash", std::move(body));
  co_return answered;
}

Task<std::vector<SentEvent>> RunApi::events(std::string method, std::string target, json::object body,
                                            std::string last_event_id, std::size_t most) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (request.method == "POST") {
    if (!body.contains("session_id")) body["session_id"] = session_;
    request.body = json::serialize(body);
    request.fields.emplace_back("Content-Type", "application/json");
  }
  request.fields.emplace_back("Accept", "text/event-stream");
  if (!last_event_id.empty()) request.fields.emplace_back("Last-Event-ID", last_event_id);
  request.body_limit = mib(64);
  std::string received;
  http::BodySink sink = [&](std::string_view piece) -> Task<Status> {
    received += piece;
    if (parse_events(received).size() >= most) co_return fail(ErrorCode::cancelled, "enough");
    co_return Status{};
  };
  auto response = co_await client_->stream(std::move(request), std::move(sink), Deadline::after(100s));
  if (response) {
    EXPECT_EQ(response->status, 200u) << response->body;
    EXPECT_EQ(response->field("Content-Type"), "text/event-stream");
  } else {
    EXPECT_EQ(response.error().code, ErrorCode::cancelled) << response.error().message;
  }
  co_return parse_events(received);
}

}  // namespace cloche
