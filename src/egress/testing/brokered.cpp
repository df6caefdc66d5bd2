#include "egress/testing/brokered.hpp"

#include <boost/asio.hpp>

#include "egress/broker/sandbox_stream.hpp"
#include "http/response_reader.hpp"
#include "http/testing/scripted_server.hpp"
#include "sandbox/testing/connected_sockets.hpp"

namespace cloche::egress::testing {

using asio::ip::tcp;

Task<Result<std::vector<Address>>> FakeResolver::resolve(std::string name, Deadline deadline) {
  asked.push_back(name);
  if (on_ask) on_ask();
  if (silent) {
    Event never_notified(co_await asio::this_coro::executor);
    while (!deadline.passed()) co_await never_notified.wait(deadline);
    co_return fail(ErrorCode::timeout, "resolve " + name + ": no response in time");
  }
  auto found = answers_.find(name);
  if (found == answers_.end()) co_return fail(ErrorCode::not_found, "the name " + name + " has no address");
  auto addresses = found->second.front();
  if (found->second.size() > 1) found->second.erase(found->second.begin());
  co_return addresses;
}

void FakeResolver::answer(const std::string& name, std::vector<std::string> addresses) {
  std::vector<Address> parsed;
  for (const std::string& text : addresses) parsed.push_back(Address::parse(text).value());
  answers_[name].push_back(std::move(parsed));
}

Task<> Program::send(std::string bytes) {
  // The broker may close in the middle; what it said before is what counts.
  [[maybe_unused]] auto written = co_await stream_->write_all(bytes, Deadline::never());
}

Task<std::string> Program::receive() {
  if (!unread_.empty()) co_return std::exchange(unread_, {});
  std::string bytes(64 << 10, '\0');
  auto count = co_await stream_->read_some(bytes, Deadline::never());
  bytes.resize(count.value_or(0));
  co_return bytes;
}

Task<std::string> Program::receive_exactly(std::size_t size) {
  std::string all;
  while (all.size() < size) {
    const std::string more = co_await receive();
    if (more.empty()) break;
    all += more;
  }
  if (all.size() > size) unread_ = all.substr(size);
  all.resize(std::min(size, all.size()));
  co_return all;
}

Task<std::string> Program::rest() {
  std::string all;
  for (;;) {
    const std::string more = co_await receive();
    if (more.empty()) co_return all;
    all += more;
  }
}

Task<http::Response> Program::answer() { return read_answer(true); }
Task<http::Response> Program::answer_without_body() { return read_answer(false); }

Task<http::Response> Program::read_answer(bool has_body) {
  http::ReaderLimits limits;
  limits.body = mib(64);
  http::ResponseReader reader(limits, has_body ? http::BodyRule::as_announced : http::BodyRule::none);
  std::string body;
  std::string unread = std::exchange(unread_, {});
  for (;;) {
    auto used = reader.feed(unread);
    if (!used) co_return http::Response{};
    unread.erase(0, *used);
    body += reader.take_body();
    if (reader.done() || (reader.head_done() && (!has_body || reader.head().status < 200))) break;
    if (*used > 0) continue;
    const std::string more = co_await receive();
    unread += more;
    if (more.empty() && !reader.end_of_stream()) co_return http::Response{};
    if (more.empty()) break;
  }
  unread_ = std::move(unread);
  http::Response response = reader.head();
  response.body = std::move(body);
  co_return response;
}

Task<> Guest::send(std::string bytes) {
  [[maybe_unused]] const auto [code, count] =
      co_await asio::async_write(socket_, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
}

Task<std::string> Guest::receive() {
  if (!unread_.empty()) co_return std::exchange(unread_, {});
  std::string bytes(64 << 10, '\0');
  const auto [code, count] = co_await socket_.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  bytes.resize(code ? 0 : count);
  co_return bytes;
}

Task<std::string> Guest::receive_until(std::string_view end) {
  std::string all;
  while (all.find(end) == std::string::npos) {
    const std::string more = co_await receive();
    if (more.empty()) co_return std::string();
    all += more;
  }
  const std::size_t size = all.find(end) + end.size();
  unread_ = all.substr(size);
  all.resize(size);
  co_return all;
}

Task<std::string> Guest::rest() {
  std::string all;
  for (;;) {
    const std::string more = co_await receive();
    if (more.empty()) co_return all;
    all += more;
  }
}

void Guest::end_writing() {
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void Guest::reset() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

ScriptedTcpServer::ScriptedTcpServer(const Executor& executor, Script script)
    : acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      script_(std::move(script)),
      tasks_(executor) {
  tasks_.spawn("accept", [this] { return accept(); });
}

Task<> ScriptedTcpServer::accept() {
  for (;;) {
    auto [code, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (code) co_return;
    ++connections_;
    auto guest = std::make_shared<Guest>(std::move(socket));
    tasks_.spawn("guest", [this, guest]() -> Task<> { co_await script_(*guest); });
  }
}

Task<> ScriptedTcpServer::stop() { return tasks_.shut_down(); }

Brokered::Brokered() {
  options_.resolver = resolver_;
  sandbox_.tenant = "acme";
  sandbox_.where = "session/1";
  sandbox_.policy = allow({"127.0.0.0/8:1-65535", "server.test:1-65535"});
  resolver_->answer("server.test", {"127.0.0.1"});
}

void Brokered::run(const std::function<Task<>()>& body) {
  broker_.emplace(io_.get_executor(), options_);
  egress_ = broker_->open(sandbox_);
  programs_.emplace(io_.get_executor());
  const bool ended = http::testing::run_to_end(io_, [this, body]() -> Task<> {
    co_await body();
    co_await egress_->close();
    co_await programs_->shut_down();
    for (const auto& server : servers_) co_await server->stop();
    EXPECT_EQ(broker_->totals().open, 0u);
  });
  EXPECT_TRUE(ended);
  egress_.reset();
  programs_.reset();
  broker_.reset();
}

std::unique_ptr<Program> Brokered::connect(std::optional<Destination> meant) {
  std::shared_ptr<std::unique_ptr<http::Stream>> stream;
  std::unique_ptr<Program> program;
  if (between_ == Between::sockets) {
    program = connect_by_socket(stream);
  } else {
    auto [ours, theirs] = MemoryStream::make_pair(io_.get_executor(), 256 << 10);
    stream = std::make_shared<std::unique_ptr<http::Stream>>(std::move(theirs));
    std::function<void()> end = [lane = ours->out()] {
      lane->ended = true;
      lane->changed.notify();
    };
    program = std::make_unique<Program>(std::move(ours), std::move(end));
  }
  programs_->spawn("program", [this, stream, meant] { return egress_->serve(std::move(*stream), meant); });
  return program;
}

std::unique_ptr<Program> Brokered::connect_by_socket(std::shared_ptr<std::unique_ptr<http::Stream>>& broker_side) {
  if (!sockets_) sockets_ = std::make_shared<SocketConnections>(std::make_shared<FrozenTime>());
  auto [ours, theirs] = connected_sockets(io_.get_executor());
  broker_side = std::make_shared<std::unique_ptr<http::Stream>>(
      std::make_unique<SandboxStream>(sockets_->add(std::move(theirs))));
  auto connection = sockets_->add(std::move(ours));
  std::function<void()> end = [raw = connection.get()] { raw->finish(); };
  return std::make_unique<Program>(std::make_unique<SandboxStream>(std::move(connection)), std::move(end));
}

Task<http::Response> Brokered::ask(std::string request) {
  const auto program = connect();
  co_await program->send(std::move(request));
  auto response = co_await program->answer();
  co_return response;
}

ScriptedTcpServer& Brokered::serve(ScriptedTcpServer::Script script) {
  servers_.push_back(std::make_unique<ScriptedTcpServer>(io_.get_executor(), std::move(script)));
  return *servers_.back();
}

ScriptedTcpServer& Brokered::serve_http(std::string body) {
  return serve([this, body](Guest& guest) -> Task<> {
    for (;;) {
      const std::string head = co_await guest.receive_until("\r\n\r\n");
      if (head.empty()) co_return;
      heads_.push_back(head);
      co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
  });
}

Task<EgressEvent> Brokered::event(Outcome outcome) {
  for (;;) {
    for (const EgressEvent& each : egress_->books().after(taken_)) {
      taken_ = each.number;
      if (each.outcome == outcome) co_return each;
    }
    co_await egress_->books().wait_after(taken_);
  }
}

Rule Brokered::rule(std::string_view text) { return parse_rule(text).value(); }

Policy Brokered::allow(const std::vector<std::string>& rules) {
  Policy policy;
  policy.network = Network::allow_list;
  for (const std::string& text : rules) policy.allow.push_back(rule(text));
  return policy;
}

}  // namespace cloche::egress::testing
