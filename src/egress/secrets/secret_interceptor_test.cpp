#include "egress/secrets/secret_interceptor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>

#include "auth/testing/scratch.hpp"
#include "core/async/task_group.hpp"
#include "core/base64.hpp"
#include "core/text.hpp"
#include "egress/testing/identities.hpp"
#include "egress/testing/memory_stream.hpp"
#include "egress/tls/tls_stream.hpp"
#include "http/response_reader.hpp"
#include "http/testing/scripted_server.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using testing::MemoryStream;
using testing::TestAuthority;
using testing_support::FailsWith;
using testing_support::Succeeds;

const std::string api = "api.example.org";
const std::string api_key = "sk-0123456789abcdef/+x";
const std::string hidden(api_key.size(), '*');

Deadline in_time() { return Deadline::after(std::chrono::minutes(1)); }

// A server's side of one connection.
class Origin {
 public:
  explicit Origin(TlsStream& stream) : stream_(stream) {}

  // The next request, head and announced body; empty at the end.
  Task<std::string> request() {
    for (;;) {
      const auto end = unread_.find("\r\n\r\n");
      if (end != std::string::npos) {
        std::size_t size = end + 4;
        const auto length = lower(unread_.substr(0, end)).find("content-length: ");
        if (length != std::string::npos) size += std::stoul(unread_.substr(length + 16));
        if (unread_.size() >= size) {
          std::string whole = unread_.substr(0, size);
          unread_.erase(0, size);
          co_return whole;
        }
      }
      if (!co_await more()) co_return std::string();
    }
  }
  Task<std::string> bytes() {
    if (unread_.empty()) co_await more();
    co_return std::exchange(unread_, {});
  }
  Task<> send(std::string bytes) { (void)co_await stream_.write_all(bytes, in_time()); }
  Task<> reply(std::string body) { return reply("200 OK", "", std::move(body)); }
  Task<> reply(std::string status, std::string fields, std::string body) {
    co_await send("HTTP/1.1 " + status + "\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body);
  }
  Task<> end() { co_await stream_.end_writing(in_time()); }
  void cut_off() { stream_.close(); }

 private:
  Task<bool> more() {
    std::array<char, 4096> buffer;
    auto count = co_await stream_.read_some(buffer, in_time());
    if (!count || *count == 0) co_return false;
    unread_.append(buffer.data(), *count);
    co_return true;
  }

  TlsStream& stream_;
  std::string unread_;
};

using Script = std::function<Task<>(Origin&)>;

// Answers each request with all of it, and remembers it.
struct EchoingServer {
  std::vector<std::string> requests;

  Script script() {
    return [this](Origin& origin) -> Task<> {
      for (;;) {
        std::string request = co_await origin.request();
        if (request.empty()) co_return;
        requests.push_back(request);
        co_await origin.reply(std::move(request));
      }
    };
  }
};

class FakeConnection final : public Intercepted {
 public:
  explicit FakeConnection(asio::io_context& io) : io_(io), books_(std::make_shared<Books>(io.get_executor(), 100)) {}

  const Destination& destination() const override { return where; }
  std::shared_ptr<const Policy> policy() const override { return rules; }
  Task<OrRefusal<std::unique_ptr<http::Stream>>> connect() override {
    ++connects;
    if (unreachable > 0) {
      --unreachable;
      co_return std::unexpected(Refusal::failed({ErrorCode::unavailable, "nobody is there"}));
    }
    auto [ours, servers] = MemoryStream::make_pair(io_.get_executor(), 65536);
    auto shared = std::make_shared<std::unique_ptr<MemoryStream>>(std::move(servers));
    tasks.spawn("server", [this, shared]() -> Task<> {
      auto stream = co_await TlsStream::accept(std::move(*shared), context, std::string(), in_time());
      if (!stream) co_return;
      Origin origin(**stream);
      co_await script(origin);
    });
    co_return std::unique_ptr<http::Stream>(std::move(ours));
  }
  OrRefusal<std::unique_ptr<Account>> begin_request(std::string_view method, std::string_view path) override {
    EgressEvent event;
    event.method = method;
    event.path = path;
    auto account = std::make_unique<Account>(books_, std::move(event));
    const Decision decision = decide_request(*rules, where, Address::v4({192, 0, 2, 1}), method, path);
    if (!decision.allowed) {
      Refusal refusal = Refusal::denied(decision);
      account->refuse(refusal);
      return std::unexpected(std::move(refusal));
    }
    account->allow(decision.rule);
    return account;
  }
  Deadline::Clock::duration idle() const override { return std::chrono::minutes(1); }
  Deadline::Clock::duration head() const override { return std::chrono::minutes(1); }

  std::vector<EgressEvent> events() const { return books_->after(0); }
  // The last event of the last request.
  EgressEvent last() const { return events().empty() ? EgressEvent() : events().back(); }

  Destination where{.name = api, .address = std::nullopt, .port = 443};
  std::shared_ptr<Policy> rules = std::make_shared<Policy>();
  SslContext context;  // of the server
  Script script;
  int connects = 0;
  int unreachable = 0;  // so many times

 private:
  asio::io_context& io_;
  std::shared_ptr<Books> books_;

 public:
  TaskGroup tasks{io_.get_executor()};
};

Rule secret_rule(SecretUse use) {
  Rule rule = *parse_rule(api);
  use.secret = "key";
  rule.secret = std::move(use);
  return rule;
}

// A connection of a program.
class Program {
 public:
  explicit Program(std::unique_ptr<TlsStream> stream) : stream_(std::move(stream)) {}

  Task<> send(std::string bytes) { (void)co_await stream_->write_all(bytes, in_time()); }
  // Status 0: the connection ended before the response did.
  Task<http::Response> response(http::BodyRule rule = http::BodyRule::as_announced) {
    http::ResponseReader reader({}, rule);
    http::Response whole;
    for (;;) {
      auto used = reader.feed(unread_);
      if (!used) co_return http::Response();
      unread_.erase(0, *used);
      whole.body += reader.take_body();
      if (reader.head_done() && (rule == http::BodyRule::none || reader.done())) break;
      if (*used > 0) continue;
      if (!co_await more()) co_return http::Response();
    }
    whole.status = reader.head().status;
    whole.fields = reader.head().fields;
    co_return whole;
  }
  Task<http::Response> ask(std::string request) {
    co_await send(std::move(request));
    co_return co_await response();
  }
  Task<std::string> bytes() {
    if (unread_.empty()) co_await more();
    co_return std::exchange(unread_, {});
  }
  void close() { stream_->close(); }
  TlsStream& stream() { return *stream_; }

 private:
  Task<bool> more() {
    std::array<char, 4096> buffer;
    auto count = co_await stream_->read_some(buffer, in_time());
    if (!count || *count == 0) co_return false;
    unread_.append(buffer.data(), *count);
    co_return true;
  }

  std::unique_ptr<TlsStream> stream_;
  std::string unread_;
};

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + api + "\r\n" + fields + "\r\n";
}

std::string all_of(const http::Response& response) {
  std::string text = std::to_string(response.status) + "\n";
  for (const auto& [name, value] : response.fields) text += name + ": " + value + "\n";
  return text + response.body;
}

class Interception : public ::testing::Test {
 protected:
  Interception() {
    connection_.context = real_.server(api);
    connection_.script = echo_.script();
    connection_.rules->network = Network::allow_list;
    use({.where = SecretUse::Where::header, .name = "Authorization", .value_template = "Bearer {secret}"});
    EgressSecret& key = sources_.named["key"];
    key.source = EgressSecret::Source::value;
    key.text = api_key;
  }

  void use(SecretUse how) { connection_.rules->allow = {secret_rule(std::move(how))}; }

  void run(const std::function<Task<>(Program&)>& body, const std::string& name = api) {
    auto authority = CertificateAuthority::open(scratch_ / ".", "test");
    ASSERT_THAT(authority, Succeeds());
    SecretInterceptorOptions options;
    options.authority = *authority;
    options.client = real_.client();
    options.secrets = sources_;
    SecretInterceptor interceptor(io_.get_executor(), std::move(options));
    const auto all = [&]() -> Task<> {
      auto [inside, outside] = MemoryStream::make_pair(io_.get_executor(), 65536);
      auto shared = std::make_shared<std::unique_ptr<http::Stream>>(std::move(outside));
      connection_.tasks.spawn("interceptor", [this, shared, &interceptor]() -> Task<> {
        served_ = co_await interceptor.serve(std::move(*shared), connection_);
      });
      auto stream =
          co_await TlsStream::connect(std::move(inside), trusting((*authority)->certificate_pem()), name, in_time());
      if (stream) {
        Program program(std::move(*stream));
        co_await body(program);
        program.close();
      } else {
        handshake_ = fail(stream.error());
      }
      co_await connection_.tasks.join();
    };
    io_.restart();
    EXPECT_TRUE(http::testing::run_to_end(io_, all, std::chrono::seconds(60)));
    for (const EgressEvent& event : connection_.events()) {
      EXPECT_EQ(to_json(event).find(api_key), std::string::npos);
    }
  }

  // A program asks once; the server's response is this.
  http::Response answer_to(const std::string& request, Script script) {
    http::Response response;
    connection_.script = std::move(script);
    run([&](Program& program) -> Task<> { response = co_await program.ask(request); });
    EXPECT_EQ(all_of(response).find(api_key), std::string::npos);
    EXPECT_EQ(all_of(response).find(encode_base64(api_key).substr(0, 20)), std::string::npos);
    return response;
  }
  http::Response answer_to(Script script) { return answer_to(get("/v1"), std::move(script)); }

  static SslContext trusting(const std::string& pem) {
    SslContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate_from_pem(pem)->get());
    return context;
  }

  asio::io_context io_;
  auth::testing::ScratchDir scratch_;
  TestAuthority real_;  // signs the server's certificate
  EchoingServer echo_;
  FakeConnection connection_{io_};
  SecretSources sources_;
  Status served_;
  Status handshake_;
};

TEST_F(Interception, Request_GetsTheSecretAndTheProgramDoesNot) {
  const http::Response response =
      answer_to(get("/v1?x=1", "Authorization: Bearer placeholder\r\nX-Own: 1\r\n"), echo_.script());
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_EQ(echo_.requests[0],
            "GET /v1?x=1 HTTP/1.1\r\nHost: api.example.org\r\nX-Own: 1\r\nAccept-Encoding: identity\r\n"
            "Authorization: Bearer " +
                api_key + "\r\n\r\n");
  EXPECT_EQ(response.status, 200U);
  EXPECT_NE(response.body.find("Authorization: Bearer " + hidden), std::string::npos);
  EXPECT_EQ(connection_.last().secret, "key");
  EXPECT_EQ(connection_.last().status, 200U);
  EXPECT_EQ(connection_.last().outcome, Outcome::closed);
  EXPECT_THAT(served_, Succeeds());
}

TEST_F(Interception, BasicAuth_IsHiddenInItsBase64) {
  use({.where = SecretUse::Where::basic_auth, .name = "user"});
  const http::Response response = answer_to(echo_.script());
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_NE(echo_.requests[0].find("Basic " + encode_base64("user:" + api_key)), std::string::npos);
  EXPECT_NE(response.body.find("*********************"), std::string::npos);
}

TEST_F(Interception, QueryParameter_IsHiddenInItsPercentEncoding) {
  use({.where = SecretUse::Where::query, .name = "key"});
  const http::Response response = answer_to(get("/v1?key=mine&a=b"), echo_.script());
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_TRUE(echo_.requests[0].starts_with("GET /v1?a=b&key=sk-0123456789abcdef%2F%2Bx HTTP/1.1\r\n"));
  EXPECT_EQ(response.body.find("0123456789"), std::string::npos);
}

TEST_F(Interception, EchoInHeaders_IsHidden) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.reply("302 Found",
                          "Location: https://elsewhere.example.org/?k=" + api_key + "\r\nSet-Cookie: a=" + api_key +
                              "\r\nX-Hex: " + to_hex(api_key) + "\r\nX-sk-0123456789abcdef: 1\r\n",
                          "");
  });
  EXPECT_EQ(response.status, 302U);
  EXPECT_EQ(response.field("Location"), "https://elsewhere.example.org/?k=" + hidden);
  EXPECT_EQ(response.field("Set-Cookie"), "a=" + hidden);
  EXPECT_EQ(response.field("X-Hex"), hidden + hidden);
}

TEST_F(Interception, EchoInTheNameOfAHeader_IsHidden) {
  sources_.named["key"].text = "token-like-secret";
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.reply("200 OK", "X-token-like-secret: 1\r\n", "");
  });
  EXPECT_EQ(response.field("X-*****************"), "1");
}

TEST_F(Interception, EchoInAnErrorPage_IsHidden) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.reply("500 " + api_key, "", "<p>bad key: " + api_key + "</p>");
  });
  EXPECT_EQ(response.status, 500U);
  EXPECT_EQ(response.body, "<p>bad key: " + hidden + "</p>");
}

TEST_F(Interception, EchoInChunksOfOneByte_IsHidden) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char c : "a" + api_key + "z") co_await origin.send(std::string("1\r\n") + c + "\r\n");
    co_await origin.send("0\r\n\r\n");
  });
  EXPECT_EQ(response.body, "a" + hidden + "z");
}

TEST_F(Interception, EchoInTrailers_IsDropped) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n2\r\nok\r\n0\r\nX-Late: " + api_key +
        "\r\n\r\n");
  });
  EXPECT_EQ(response.body, "ok");
  EXPECT_EQ(response.field("X-Late"), "");
}

TEST_F(Interception, EchoAtTheEndOfABodyWithoutLength_IsHidden) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send("HTTP/1.1 200 OK\r\n\r\nthe key is " + api_key.substr(0, 10));
    co_await origin.send(api_key.substr(10));
    co_await origin.end();
  });
  EXPECT_EQ(response.body, "the key is " + hidden);
}

TEST_F(Interception, EchoInAnInformationalResponse_IsDropped) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send("HTTP/1.1 103 Early Hints\r\nLink: <" + api_key + ">\r\n\r\n");
    co_await origin.reply("fine");
  });
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.body, "fine");
}

TEST_F(Interception, CompressedResponse_IsRefused) {
  for (const char* fields : {"Content-Encoding: gzip\r\n", "content-encoding: identity, br\r\n",
                             "Connection: Content-Encoding\r\nContent-Encoding: deflate\r\n"}) {
    const http::Response response = answer_to([fields](Origin& origin) -> Task<> {
      (void)co_await origin.request();
      co_await origin.reply("200 OK", fields, "compressed " + api_key);
    });
    EXPECT_EQ(response.status, 502U) << fields;
    EXPECT_NE(response.body.find("compressed, although"), std::string::npos);
  }
}

TEST_F(Interception, CompressedTransfer_IsRefused) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n");
  });
  EXPECT_EQ(response.status, 502U);
}

TEST_F(Interception, RequestsForPartsOrCompression_AreForAllOfIt) {
  answer_to(
      get("/v1", "Range: bytes=0-3\r\nIf-Range: x\r\nAccept-Encoding: gzip\r\nAccept-Encoding: br\r\nTE: gzip\r\n"),
      echo_.script());
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_EQ(lower(echo_.requests[0]).find("range:"), std::string::npos);
  EXPECT_EQ(lower(echo_.requests[0]).find("gzip"), std::string::npos);
  EXPECT_NE(echo_.requests[0].find("Accept-Encoding: identity\r\n"), std::string::npos);
}

TEST_F(Interception, HeaderNamedInConnection_IsPutOnAnyway) {
  answer_to(get("/v1", "Connection: Authorization, keep-alive\r\nAuthorization: mine\r\n"), echo_.script());
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_NE(echo_.requests[0].find("Authorization: Bearer " + api_key + "\r\n"), std::string::npos);
  EXPECT_EQ(echo_.requests[0].find("mine"), std::string::npos);
}

TEST_F(Interception, RequestForAnotherHost_IsRefused) {
  const std::vector<std::pair<std::string, unsigned>> requests{
      {"GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n", 421},
      {"GET / HTTP/1.1\r\nHost: api.example.org:8443\r\n\r\n", 421},
      {"GET http://other.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", 421},
      {"GET https://other.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", 400},  // no proxy takes these
  };
  for (const auto& [request, status] : requests) {
    EXPECT_EQ(answer_to(request, echo_.script()).status, status) << request;
    EXPECT_TRUE(echo_.requests.empty());
  }
  EXPECT_EQ(answer_to("GET /v1 HTTP/1.1\r\nHost: API.example.org:443\r\n\r\n", echo_.script()).status, 200U);
}

TEST_F(Interception, RequestThatCouldBeReadInTwoWays_IsRefused) {
  const http::Response response = answer_to(
      "POST / HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      echo_.script());
  EXPECT_EQ(response.status, 400U);
  EXPECT_TRUE(echo_.requests.empty());
}

TEST_F(Interception, MethodsThatEcho_AreRefused) {
  const http::Response response = answer_to("TRACE / HTTP/1.1\r\nHost: api.example.org\r\n\r\n", echo_.script());
  EXPECT_EQ(response.status, 405U);
  EXPECT_TRUE(echo_.requests.empty());
}

TEST_F(Interception, RuleWithPaths_IsForThesePathsAlone) {
  Rule rule = connection_.rules->allow[0];
  rule.paths = {"/v1"};
  connection_.rules->allow = {rule};
  EXPECT_EQ(answer_to(get("/v2"), echo_.script()).status, 403U);
  EXPECT_TRUE(echo_.requests.empty());
  // Another rule allows the rest, without the secret; responses are searched all the same.
  connection_.rules->allow = {rule, *parse_rule(api)};
  EXPECT_EQ(answer_to(get("/v2"), echo_.script()).status, 200U);
  ASSERT_EQ(echo_.requests.size(), 1U);
  EXPECT_EQ(echo_.requests[0].find(api_key), std::string::npos);
  EXPECT_EQ(connection_.last().secret, "");
  const http::Response later = answer_to(get("/v2"), [](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.reply("you used " + api_key);
  });
  EXPECT_EQ(later.body, "you used " + hidden);
}

TEST_F(Interception, SecretThatCannotBeRead_FailsTheRequest) {
  sources_.named["key"].source = EgressSecret::Source::file;
  sources_.named["key"].text = scratch_ / "missing";
  const http::Response response = answer_to(echo_.script());
  EXPECT_EQ(response.status, 502U);
  EXPECT_NE(response.body.find("the secret 'key' cannot be read"), std::string::npos);
  EXPECT_EQ(response.body.find("missing"), std::string::npos);
  EXPECT_TRUE(echo_.requests.empty());
  EXPECT_EQ(connection_.last().outcome, Outcome::failed);
}

TEST_F(Interception, SecretThatDoesNotFit_FailsTheRequest) {
  sources_.named["key"].text = "two\r\nlines of it";
  EXPECT_EQ(answer_to(echo_.script()).status, 502U);
  EXPECT_TRUE(echo_.requests.empty());
}

TEST_F(Interception, ServerThatIsNotTheRealOne_GetsNothing) {
  const TestAuthority stranger;
  for (const SslContext& impostor : {real_.server("other.example.org"), real_.server(api, {-10, -3}),
                                     stranger.server(api), TestAuthority::self_signed_server(api)}) {
    connection_.context = impostor;
    const http::Response response = answer_to(echo_.script());
    EXPECT_EQ(response.status, 502U);
    EXPECT_NE(response.body.find("certificate is not accepted"), std::string::npos) << response.body;
    EXPECT_TRUE(echo_.requests.empty());
    EXPECT_EQ(connection_.last().outcome, Outcome::failed);
  }
}

TEST_F(Interception, SeveralRequests_UseOneConnection) {
  run([&](Program& program) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const http::Response response = co_await program.ask(get("/" + std::to_string(i)));
      EXPECT_EQ(response.status, 200U);
    }
    EXPECT_EQ(connection_.connects, 1);
    EXPECT_EQ(echo_.requests.size(), 3U);
  });
}

TEST_F(Interception, Server_IsConnectedBeforeTheFirstRequest) {
  int handshakes = 0;
  connection_.script = [&](Origin&) -> Task<> {
    ++handshakes;
    co_return;
  };
  run([&](Program& program) -> Task<> {
    while (handshakes == 0) co_await pause_for(std::chrono::milliseconds(1));
    EXPECT_EQ(connection_.connects, 1);
    EXPECT_TRUE(connection_.events().empty());
    program.close();
  });
}

TEST_F(Interception, ServerThatCannotBeReached_IsTheAnswerToTheFirstRequest) {
  connection_.unreachable = 1;
  run([&](Program& program) -> Task<> {
    EXPECT_EQ((co_await program.ask(get("/"))).status, 502U);
    EXPECT_EQ(connection_.connects, 1);
    // The next request tries again.
    EXPECT_EQ((co_await program.ask(get("/"))).status, 200U);
    EXPECT_EQ(connection_.connects, 2);
  });
}

TEST_F(Interception, ServerThatClosesAfterEachResponse_IsConnectedAgain) {
  connection_.script = [](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.reply("once");
    co_await origin.end();
  };
  run([&](Program& program) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const http::Response response = co_await program.ask(get("/"));
      EXPECT_EQ(response.body, "once");
    }
    EXPECT_EQ(connection_.connects, 3);
  });
}

TEST_F(Interception, BodyOfARequest_IsPassedOn) {
  const std::string body(300'000, 'b');
  run([&](Program& program) -> Task<> {
    co_await program.send("POST /v1 HTTP/1.1\r\nHost: api.example.org\r\nExpect: 100-continue\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n");
    const http::Response go_on = co_await program.response(http::BodyRule::none);
    EXPECT_EQ(go_on.status, 100U);
    const http::Response response = co_await program.ask(body);
    EXPECT_EQ(response.status, 200U);
    EXPECT_TRUE(response.body.ends_with("\r\n\r\n" + body));
    EXPECT_EQ(response.body.find("Expect"), std::string::npos);
  });
}

TEST_F(Interception, LargeResponse_ComesWhole) {
  std::string piece(65536, 'x');
  piece += api_key;
  run([&](Program& program) -> Task<> {
    connection_.script = [&](Origin& origin) -> Task<> {
      (void)co_await origin.request();
      co_await origin.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(100 * piece.size()) + "\r\n\r\n");
      for (int i = 0; i < 100; ++i) co_await origin.send(piece);
    };
    const http::Response response = co_await program.ask(get("/"));
    EXPECT_EQ(response.body.size(), 100 * piece.size());
    EXPECT_EQ(response.body.find(api_key), std::string::npos);
    EXPECT_EQ(std::ranges::count(response.body, '*'), static_cast<long>(100 * api_key.size()));
  });
}

TEST_F(Interception, LengthOfABody_IsAnnouncedThoughItIsChanged) {
  const std::string body = "the key is " + api_key;
  const std::string length = std::to_string(body.size());
  run([&](Program& program) -> Task<> {
    connection_.script = [&](Origin& origin) -> Task<> {
      (void)co_await origin.request();
      co_await origin.reply(body);
      (void)co_await origin.request();
      co_await origin.send("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n");
      (void)co_await origin.request();
      co_await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    };
    const http::Response whole = co_await program.ask(get("/"));
    EXPECT_EQ(whole.field("Content-Length"), length);
    EXPECT_EQ(whole.body, "the key is " + hidden);
    co_await program.send("HEAD / HTTP/1.1\r\nHost: " + api + "\r\n\r\n");
    const http::Response head = co_await program.response(http::BodyRule::none);
    EXPECT_EQ(head.field("Content-Length"), length);
    const http::Response in_chunks = co_await program.ask(get("/"));
    EXPECT_EQ(in_chunks.field("Content-Length"), "");
    EXPECT_EQ(in_chunks.body, "abc");
  });
}

TEST_F(Interception, ResponseThatIsCutOff_IsNotTakenForWhole) {
  for (const bool with_length : {true, false}) {
    const http::Response response = answer_to([with_length](Origin& origin) -> Task<> {
      (void)co_await origin.request();
      co_await origin.send(std::string("HTTP/1.1 200 OK\r\n") + (with_length ? "Content-Length: 100\r\n" : "") +
                           "\r\nonly some");
      origin.cut_off();
    });
    EXPECT_EQ(response.status, 0U);
    EXPECT_EQ(connection_.last().outcome, Outcome::failed);
  }
}

TEST_F(Interception, ServerThatIsNotHttp_IsABadGateway) {
  const http::Response response = answer_to([](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    co_await origin.send("SSH-2.0-x " + api_key + "\r\n\r\n");
  });
  EXPECT_EQ(response.status, 502U);
}

TEST_F(Interception, WebSocket_IsCarriedAndSearched) {
  std::string request;
  connection_.script = [&](Origin& origin) -> Task<> {
    request = co_await origin.request();
    co_await origin.send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Accept: abc\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
    const std::string frame = co_await origin.bytes();
    co_await origin.send("echo " + frame + " " + api_key.substr(0, 7));
    co_await origin.send(api_key.substr(7) + "!");
    co_await origin.end();
  };
  run([&](Program& program) -> Task<> {
    co_await program.send(get("/ws",
                              "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"
                              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"));
    const http::Response response = co_await program.response(http::BodyRule::none);
    EXPECT_EQ(response.status, 101U);
    EXPECT_EQ(response.field("Sec-WebSocket-Accept"), "abc");
    EXPECT_EQ(response.field("Sec-WebSocket-Extensions"), "");
    co_await program.send("frame");
    std::string all;
    for (;;) {
      const std::string more = co_await program.bytes();
      if (more.empty()) break;
      all += more;
    }
    EXPECT_EQ(all, "echo frame " + hidden + "!");
  });
  EXPECT_NE(request.find("Authorization: Bearer " + api_key), std::string::npos);
  EXPECT_EQ(request.find("permessage-deflate"), std::string::npos);
}

TEST_F(Interception, ProgramThatLeaves_EndsItsRequest) {
  Event requested(io_.get_executor());
  connection_.script = [&](Origin& origin) -> Task<> {
    (void)co_await origin.request();
    requested.notify();
    (void)co_await origin.bytes();  // never answers
  };
  run([&](Program& program) -> Task<> {
    co_await program.send(get("/"));
    co_await requested.wait(in_time());
  });
  EXPECT_EQ(connection_.last().outcome, Outcome::ended);
}

TEST_F(Interception, ServerNameOfAnotherHost_IsNotServed) {
  run([](Program&) -> Task<> { co_return; }, "other.example.org");
  // A client that verifies refuses the certificate itself; one that does not is refused here.
  EXPECT_FALSE(served_ && handshake_);
  EXPECT_TRUE(echo_.requests.empty());
}

TEST_F(Interception, EachRequestIsInTheBooks) {
  run([&](Program& program) -> Task<> {
    (void)co_await program.ask(get("/a?secret=in-the-query"));
    (void)co_await program.ask(get("/b"));
  });
  const auto events = connection_.events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[1].path, "/a");
  EXPECT_EQ(events[3].path, "/b");
  EXPECT_EQ(events[3].secret, "key");
}

}  // namespace
}  // namespace cloche::egress
