// HTTP with a server inside a session's sandbox, through the service.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <sstream>

#include "service/file_api.hpp"
#include "service/websocket_client.hpp"

namespace cloche {

namespace json = boost::json;

class ProxyApi : public FileApi {
 protected:
  // Starts the server on port 8000; it lives as long as the terminal.
  Task<std::unique_ptr<WebSocketClient>> start_server() {
    std::ifstream file(CLOCHE_TEST_PROGRAMS "/web_server.py");
    std::ostringstream program;
    program << file.rdbuf();
    auto written = co_await write("web_server.py", program.str());
    EXPECT_EQ(written.status, 200u) << error_message_of(written);
    const std::string target = below_session("/terminal?command=" + percent_encoded("python3 web_server.py 8000"));
    auto terminal = co_await WebSocketClient::connect(io_.get_executor(), socket(), target);
    co_await terminal->wait_for("listening");
    co_return terminal;
  }
  std::string socket() const { return (scratch_.path() / "socket").string(); }
  std::string proxied(std::string_view path) const { return below_session("/proxy/8000" + std::string(path)); }
};

TEST_P(ProxyApi, Request_PassesWithoutWhatIsOurs) {
  serve([this]() -> Task<> {
    auto server = co_await start_server();
    http::Fields fields{{"Accept", "x/y"}, {"Cookie", "id=1"}, {"X-Own", "2"}};
    auto answered = co_await raw("GET", proxied("/a%20b/c?d=e%2Ff"), fields, "");
    EXPECT_EQ(answered.status, 200u) << answered.body;
    EXPECT_EQ(answered.field("Set-Cookie"), "");
    EXPECT_EQ(answered.field("Content-Security-Policy"), "sandbox");
    EXPECT_EQ(answered.field("X-Content-Type-Options"), "nosniff");
    const json::value told = json::parse(answered.body);
    EXPECT_EQ(told.at("path"), "/a%20b/c?d=e%2Ff");
    const json::object& got = told.at("fields").as_object();
    EXPECT_EQ(got.at("host"), "localhost:8000");
    EXPECT_EQ(got.at("x-own"), "2");
    EXPECT_EQ(got.at("accept"), "x/y");
    EXPECT_EQ(std::string(got.at("x-forwarded-prefix").as_string()), below_session("/proxy/8000"));
    EXPECT_FALSE(got.contains("cookie"));
    EXPECT_FALSE(got.contains("authorization"));

    http::Fields none;
    auto slashless = co_await raw("GET", proxied("?x=1"), none, "");
    EXPECT_EQ(slashless.status, 308u);
    EXPECT_EQ(slashless.field("Location"), "8000/?x=1");
    auto redirect = co_await raw("GET", proxied("/redirect"), none, "");
    EXPECT_EQ(redirect.status, 302u);
    EXPECT_EQ(redirect.field("Location"), proxied("/there"));
    auto refused = co_await raw("GET", proxied("/refuse"), none, "");
    EXPECT_EQ(refused.status, 403u);
    EXPECT_EQ(refused.body, "no");
    auto with_prefix = co_await raw("GET", "/v1/sandbox" + proxied("/redirect"), none, "");
    EXPECT_EQ(with_prefix.field("Location"), "/v1/sandbox" + proxied("/there"));
  });
}

TEST_P(ProxyApi, Bodies_PassAsTheyCome) {
  serve([this]() -> Task<> {
    auto server = co_await start_server();
    http::Fields none;
    auto posted = co_await raw("POST", proxied("/"), none, std::string(5'000'000, 'x'));
    EXPECT_EQ(posted.status, 200u) << posted.body;
    EXPECT_EQ(json::parse(posted.body).at("size"), 5'000'000);
    EXPECT_EQ(json::parse(posted.body).at("fields").as_object().at("content-length"), "5000000");
    auto empty = co_await raw("PUT", proxied("/"), none, "");
    EXPECT_EQ(json::parse(empty.body).at("size"), 0);
    EXPECT_EQ(json::parse(empty.body).at("method"), "PUT");

    http::Request request;
    request.method = "POST";
    request.target = proxied("/");
    auto pieces = std::make_shared<int>(0);
    request.source = [pieces]() -> Task<Result<std::string>> {
      co_return ++*pieces > 10 ? std::string() : std::string(1000, 'y');
    };
    auto chunked = co_await client_->send(std::move(request), Deadline::after(60s));
    EXPECT_TRUE(chunked) << chunked.error().message;
    if (chunked) {
      EXPECT_EQ(json::parse(chunked->body).at("size"), 10'000);
    }

    auto streamed = co_await raw("GET", proxied("/stream"), none, "");
    EXPECT_EQ(streamed.status, 200u);
    EXPECT_TRUE(streamed.body.starts_with("line 0\n"));
    EXPECT_TRUE(streamed.body.ends_with("line 19999\n"));
  });
}

TEST_P(ProxyApi, ServerThatFails_IsABadGateway) {
  serve([this]() -> Task<> {
    auto server = co_await start_server();
    http::Fields none;
    auto nobody = co_await raw("GET", below_session("/proxy/8001/"), none, "");
    EXPECT_EQ(nobody.status, 502u) << nobody.body;
    EXPECT_THAT(nobody.body, HasSubstr("bad_gateway"));
    for (const char* path : {"/hang-up", "/nonsense"}) {
      auto failed = co_await raw("GET", proxied(path), none, "");
      EXPECT_EQ(failed.status, 502u) << path << failed.body;
    }
    http::Request request;
    request.method = "GET";
    request.target = proxied("/short");
    auto cut = co_await client_->send(std::move(request), Deadline::after(60s));
    EXPECT_FALSE(cut) << "an answer that is cut must not look whole";
    for (const char* port : {"0", "65536", "x", "-1"}) {
      auto no_port = co_await raw("GET", below_session("/proxy/" + std::string(port) + "/"), none, "");
      EXPECT_EQ(no_port.status, 400u) << port;
    }
    auto no_session = co_await raw("GET", "/sessions/default/never-made/proxy/8000/", none, "");
    EXPECT_EQ(no_session.status, 404u);
  });
}

TEST_P(ProxyApi, WebSocket_IsJoined) {
  serve([this]() -> Task<> {
    auto server = co_await start_server();
    auto client = co_await WebSocketClient::connect(io_.get_executor(), socket(), proxied("/ws"));
    co_await client->send_text("abc");
    const auto first = co_await client->receive();
    EXPECT_EQ(first.data, "cba");
    co_await client->send_bytes(std::string("1\0002", 3));
    const auto second = co_await client->receive();
    EXPECT_EQ(second.data, std::string("2\0001", 3));
    co_await client->close();
  });
}

TEST_P(ProxyApi, SlowServer_IsATimeout) {
  if (target().runtime != "crun") CLOCHE_DOES_NOT_APPLY("it takes a minute, and is the same everywhere");
  serve([this]() -> Task<> {
    auto server = co_await start_server();
    http::Fields none;
    auto slow = co_await raw("GET", proxied("/slow"), none, "");
    EXPECT_EQ(slow.status, 504u) << slow.body;
    EXPECT_THAT(slow.body, HasSubstr("\"timeout\""));
  });
}

std::vector<Target> proxy_targets() { return {{"oci", "crun"}, {"oci", "runsc"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, ProxyApi, testing::ValuesIn(proxy_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
