#include "envd/with_envd.hpp"

#include "connect/envelope.hpp"
#include "core/clock.hpp"
#include "json/write_json.hpp"

namespace cloche {

using dialect::e2b::DataCall;
using http::testing::RawClient;

namespace {

std::string request_text(const std::string& method, const std::string& target, const std::string& fields,
                         const std::string& body) {
  return method + " " + target + " HTTP/1.1\r\nHost: h\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

Task<bool> OpenStream::wait_for(std::string text) {
  for (;;) {
    const auto found = seen_.find(text, at_);
    if (found != std::string::npos) {
      at_ = found + text.size();
      co_return true;
    }
    const std::string piece = co_await client_->receive();
    if (piece.empty()) co_return false;
    seen_ += piece;
  }
}

Task<std::string> OpenStream::rest() {
  seen_ += co_await client_->rest();
  co_return seen_;
}

void WithEnvd::in_envd(std::function<Task<>(session::SessionStore&)> body) { in_envd({}, std::move(body)); }

void WithEnvd::in_envd(StoreSetup setup, std::function<Task<>(session::SessionStore&)> body) {
  quotas_.emplace(setup.quota, Clocks().steady);
  in_store(setup, [&, body](pool::Manager&, session::SessionStore& store) -> Task<> {
    http::Handler handler = [&](http::Exchange& exchange) -> Task<> {
      auto use = co_await store.use(tenant(), "s1", soon());
      if (!use) {
        Error error = std::move(use).error();
        co_await exchange.refuse(502, error.message);
        co_return;
      }
      DataCall call{exchange, std::move(*use), tenant(), *quotas_, calling_.authorized, calling_.token, calling_.user};
      co_await envd_.serve(call);
    };
    http::ServerOptions options;
    http::ListenTcp listen;
    listen.host = "127.0.0.1";
    options.listen.emplace_back(listen);
    server_.emplace(io_.get_executor(), options, handler);
    auto started = co_await server_->start();
    EXPECT_TRUE(started) << started.error().message;
    std::exception_ptr thrown;
    try {
      co_await body(store);
    } catch (...) {
      thrown = std::current_exception();
    }
    // Programs that still run are not waited for.
    [[maybe_unused]] auto ended = co_await store.end(tenant(), "s1", session::EndMode::cut, soon());
    co_await server_->shut_down(Deadline::after(std::chrono::seconds(10)));
    if (thrown) std::rethrow_exception(thrown);
  });
}

Task<std::unique_ptr<RawClient>> WithEnvd::connect() {
  auto client = std::make_unique<RawClient>(io_.get_executor());
  co_await client->connect(server_->listens_on().front().port);
  co_return client;
}

Task<http::Response> WithEnvd::ask(std::string method, std::string target, std::string fields, std::string body) {
  const auto client = co_await connect();
  co_await client->send(request_text(method, target, fields, body));
  if (method == "HEAD") co_return co_await client->answer_without_body();
  co_return co_await client->answer();
}

Task<http::Response> WithEnvd::call(std::string method, std::string message, std::string fields) {
  co_return co_await ask("POST", "/" + method, "Content-Type: application/json\r\n" + fields, message);
}

Task<std::unique_ptr<OpenStream>> WithEnvd::open(std::string method, std::string message, std::string fields) {
  auto client = co_await connect();
  const std::string body = connect::in_envelope(0, message);
  co_await client->send(request_text("POST", "/" + method,
                                     "Content-Type: application/connect+json\r\nConnection: close\r\n" + fields, body));
  co_return std::make_unique<OpenStream>(std::move(client));
}

Task<std::string> WithEnvd::shell_stream(std::string line, std::string fields) {
  const auto stream = co_await open("process.Process/Start", start_message(line), fields);
  co_return co_await stream->rest();
}

std::string start_message(const std::string& line, const std::string& more) {
  return R"({"process":{"cmd":"/bin/sh","args":["-c",)" + write_json_string(line) + R"(]},"stdin":false)" + more + "}";
}

std::uint32_t pid_in(const std::string& stream) {
  const auto at = stream.find(R"("start":{"pid":)");
  return at == std::string::npos ? 0 : static_cast<std::uint32_t>(std::stoul(stream.substr(at + 15)));
}

}  // namespace cloche
