#include "service/file_api.hpp"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cctype>

#include "service/websocket_client.hpp"

namespace cloche {

namespace json = boost::json;

namespace {

std::string error_field(const Answered& answered, std::string_view name) {
  const auto* body = answered.body.if_object();
  const auto* error = body == nullptr ? nullptr : body->if_contains("error");
  const auto* fields = error == nullptr ? nullptr : error->if_object();
  const auto* found = fields == nullptr ? nullptr : fields->if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

}  // namespace

std::string error_code_of(const Answered& answered) { return error_field(answered, "code"); }
std::string error_message_of(const Answered& answered) { return error_field(answered, "message"); }

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) encoded += std::isalnum(c) != 0 ? std::string(1, c) : fmt::format("%{:02X}", c);
  return encoded;
}

Task<Answered> FileApi::post(std::string route, json::object body) {
  if (!body.contains("session_id")) body["session_id"] = session_;
  std::string text = json::serialize(body);
  auto answered = co_await call("POST", std::move(route), std::move(text));
  co_return answered;
}

Task<Answered> FileApi::write(std::string path, std::string content) {
  json::object body;
  body["path"] = path;
  body["content"] = content;
  auto answered = co_await post("/write", std::move(body));
  co_return answered;
}

Task<std::string> FileApi::text_of(std::string path) {
  json::object body;
  body["path"] = path;
  const auto answered = co_await post("/read", std::move(body));
  EXPECT_EQ(answered.status, 200u) << path << ": " << error_message_of(answered);
  co_return answered.text("content");
}

Task<http::Response> FileApi::raw(std::string method, std::string target, http::Fields fields, std::string body) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.fields = std::move(fields);
  request.body = std::move(body);
  request.body_limit = mib(64);
  auto response = co_await client_->send(std::move(request), Deadline::after(100s));
  if (!response) throw std::runtime_error(response.error().message);
  co_return std::move(*response);
}

Task<std::string> FileApi::shell(std::string line) {
  const std::string socket = (scratch_.path() / "socket").string();
  const std::string target = below_session("/terminal?command=" + percent_encoded(line));
  auto client = co_await WebSocketClient::connect(io_.get_executor(), socket, target);
  const json::value exit = co_await client->wait_for_exit();
  EXPECT_EQ(exit.at("exit_code"), 0) << line << ": " << client->printed();
  co_return client->printed();
}

}  // namespace cloche
