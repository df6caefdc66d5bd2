#include "http/server/testing/served.hpp"

namespace cloche::http::testing {

Served::Served() {
  ListenTcp listen;
  listen.host = "127.0.0.1";
  options_.listen.emplace_back(listen);
  handler_ = [](Exchange& exchange) -> Task<> {
    std::string body = exchange.method() + " " + exchange.target().path;
    Fields fields;
    co_await exchange.respond(200, std::move(fields), std::move(body));
  };
}

void Served::run(const std::function<Task<>()>& body) {
  server_.emplace(io_.get_executor(), options_, handler_);
  const bool ended = run_to_end(io_, [this, body]() -> Task<> {
    auto started = co_await server_->start();
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    co_await body();
    co_await server_->shut_down(Deadline::after(std::chrono::seconds(5)));
    const ServerCounts counts = server_->counts();
    EXPECT_EQ(counts.open_connections, 0u);
    EXPECT_EQ(counts.requests_in_flight, 0u);
  });
  EXPECT_TRUE(ended);
}

Task<std::unique_ptr<RawClient>> Served::connect() {
  auto client = std::make_unique<RawClient>(io_.get_executor());
  co_await client->connect(port());
  co_return client;
}

Task<Response> Served::ask(std::string request) {
  auto client = co_await connect();
  co_await client->send(std::move(request));
  auto answer = co_await client->answer();
  co_return answer;
}

}  // namespace cloche::http::testing
