// Networks of sessions over HTTP: what a rule allows is reached through the proxy, everything else is refused, and it
// is in the books.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>

#include "core/async/task_group.hpp"
#include "service/service_auth.hpp"
#include "support/eventually.hpp"

namespace cloche {

namespace {

namespace json = boost::json;
using asio::ip::tcp;

// A server of this host that answers every connection with `hello`. Clients do not use a proxy for 127.0.0.1.
class HelloServer {
 public:
  explicit HelloServer(asio::io_context& io)
      : acceptor_(io, tcp::endpoint(asio::ip::make_address("127.0.0.2"), 0)), tasks_(io.get_executor()) {}
  // Until end(), which the io_context waits for.
  void begin() {
    tasks_.spawn("hello server", [this] { return serve(); });
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  int served() const { return served_; }
  Task<> end() { return tasks_.shut_down(); }

 private:
  Task<> serve() {
    for (;;) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      ++served_;
      std::string request(4096, '\0');
      co_await socket.async_read_some(asio::buffer(request), asio::use_awaitable);
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
      co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
    }
  }

  tcp::acceptor acceptor_;
  int served_ = 0;
  TaskGroup tasks_;
};

// Prints the status and the body of a URL, by the proxy of the environment.
std::string fetch(const std::string& url) {
  return "python3 -c \"import urllib.request as r, urllib.error as e\n"
         "try:\n    a = r.urlopen('" +
         url +
         "', timeout=20); print(a.status, a.read().decode())\n"
         "except e.HTTPError as x: print(x.code, x.read().decode())\n"
         "except Exception as x: print('failed', x)\" 2>&1";
}

constexpr const char* local = R"json({"mode": "allow-list", "rules": ["local"]})json";

}  // namespace

// Tenant acme may choose a network and the rule set `local`; `other` may not.
class EgressApi : public ServiceAuth {
 protected:
  void SetUp() override {
    ServiceAuth::SetUp();
    if (IsSkipped()) return;
    hello_ = std::make_unique<HelloServer>(io_);
    adjust_ = [this, before = adjust_](server::ServiceOptions& options) {
      before(options);
      config::Config& config = options.config;
      EgressRule rule;
      rule.host = "127.0.0.0/8:" + std::to_string(hello_->port());
      config.manager.egress.rules["local"].allow.push_back(std::move(rule));
      config.access.rule_sets.emplace("local", auth::AccessList({"acme"}));
      config.access.network = auth::AccessList({"acme"});
    };
  }

  void serve_hello(std::function<Task<>()> body) {
    serve([this, body = std::move(body)]() -> Task<> {
      hello_->begin();
      std::exception_ptr failure;
      try {
        co_await body();
      } catch (...) {
        failure = std::current_exception();
      }
      co_await hello_->end();
      if (failure) std::rethrow_exception(failure);
    });
  }

  std::string url() const { return "http://127.0.0.2:" + std::to_string(hello_->port()) + "/"; }
  Task<Answered> create(std::string token, std::string network) {
    std::string body = R"({"session_id": "s", "network": )" + network + "}";
    return call_as(std::move(token), "POST", "/sessions", std::move(body));
  }
  Task<std::string> bash(std::string token, std::string command) {
    const json::object body{{"session_id", "s"}, {"command", command}};
    auto ran = co_await call_as(std::move(token), "POST", "/bash", json::serialize(body));
    EXPECT_EQ(ran.status, 200u) << json::serialize(ran.body);
    co_return ran.text("stdout");
  }
  Task<Answered> change(std::string network) {
    std::string body = R"({"network": )" + network + "}";
    return call_as(acme_, "PUT", "/sessions/acme/s/network", std::move(body));
  }
  Task<std::vector<std::string>> outcomes() {
    auto listed = co_await call_as(acme_, "GET", "/sessions/acme/s/egress");
    EXPECT_EQ(listed.status, 200u) << json::serialize(listed.body);
    std::vector<std::string> all;
    for (const auto& event : listed.body.at("events").as_array()) {
      all.emplace_back(event.at("outcome").as_string());
    }
    co_return all;
  }

  std::unique_ptr<HelloServer> hello_;
};

TEST_P(EgressApi, AllowedServer_IsReachedAndOthersAreRefused) {
  serve_hello([this]() -> Task<> {
    auto made = co_await create(acme_, local);
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    EXPECT_EQ(json::serialize(made.body.at("network")), R"({"mode":"allow-list","rules":["local"]})");
    auto allowed = co_await bash(acme_, fetch(url()));
    EXPECT_EQ(allowed, "200 hello\n");
    auto refused = co_await bash(acme_, fetch("http://not-allowed.example/"));
    EXPECT_THAT(refused, testing::StartsWith("403 "));
    auto other_port = co_await bash(acme_, fetch("http://127.0.0.2:1/"));
    EXPECT_THAT(other_port, testing::StartsWith("403 "));
    auto listed = co_await outcomes();
    EXPECT_THAT(listed, testing::Contains("allowed"));
    EXPECT_THAT(listed, testing::Contains("denied").Times(2));
    EXPECT_EQ(hello_->served(), 1);
  });
}

TEST_P(EgressApi, NetworkThatIsChangedToNone_IsGoneAndMayComeBack) {
  serve_hello([this]() -> Task<> {
    auto made = co_await create(acme_, local);
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto first = co_await bash(acme_, fetch(url()));
    EXPECT_EQ(first, "200 hello\n");
    auto changed = co_await change(R"("none")");
    EXPECT_EQ(changed.status, 200u) << json::serialize(changed.body);
    auto environment = co_await bash(acme_, "env | grep -ci _proxy=");
    EXPECT_EQ(environment, "0\n");
    auto after =
        co_await bash(acme_, "HTTP_PROXY=http://127.0.0.1:3128 http_proxy=http://127.0.0.1:3128 NO_PROXY= no_proxy= " +
                                 fetch("http://not-local.example/"));
    EXPECT_THAT(after, HasSubstr("refused"));
    auto again = co_await change(local);
    EXPECT_EQ(again.status, 200u) << json::serialize(again.body);
    auto back = co_await bash(acme_, fetch(url()));
    EXPECT_EQ(back, "200 hello\n");
    // The books are the session's, not the way out's.
    auto listed = co_await outcomes();
    EXPECT_THAT(listed, testing::Contains("allowed").Times(2));
  });
}

TEST_P(EgressApi, NarrowerPolicy_HoldsForTheNextRequest) {
  serve_hello([this]() -> Task<> {
    auto made = co_await create(acme_, local);
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto changed = co_await change(R"({"mode": "allow-list", "allow": ["elsewhere.example"]})");
    EXPECT_EQ(changed.status, 200u) << json::serialize(changed.body);
    auto refused = co_await bash(acme_, fetch(url()));
    EXPECT_THAT(refused, testing::StartsWith("403 "));
    EXPECT_EQ(hello_->served(), 0);
  });
}

TEST_P(EgressApi, SessionWithoutNetwork_HasNoProxyAndNothingListens) {
  serve_hello([this]() -> Task<> {
    auto environment = co_await bash(acme_, "env | grep -ci _proxy=");
    EXPECT_EQ(environment, "0\n");
    auto listening = co_await bash(
        acme_, "python3 -c \"import socket; s = socket.socket(); print(s.connect_ex(('127.0.0.1', 3128)))\"");
    EXPECT_EQ(listening, "111\n");
    auto listed = co_await outcomes();
    EXPECT_TRUE(listed.empty());
  });
}

TEST_P(EgressApi, TenantThatMayNotChoose_SeesNoNetwork) {
  serve_hello([this]() -> Task<> {
    auto unknown = co_await create(other_, R"({"rules": ["missing"]})");
    EXPECT_EQ(unknown.status, 404u);
    const char* wanted[] = {local, R"("internet")", R"({"allow": ["a.example"]})"};
    for (const char* network : wanted) {
      auto refused = co_await create(other_, network);
      EXPECT_EQ(refused.status, 404u) << network;
      EXPECT_EQ(refused.body.at("error").at("message"), unknown.body.at("error").at("message")) << network;
    }
    auto none = co_await create(other_, R"("none")");
    EXPECT_EQ(none.status, 201u) << json::serialize(none.body);
    // A tenant that may choose, but not this rule set or these addresses.
    auto missing = co_await create(acme_, R"({"rules": ["missing"]})");
    EXPECT_EQ(missing.status, 404u);
    auto reserved = co_await create(acme_, R"({"allow": ["127.0.0.1:1-65535"]})");
    EXPECT_EQ(reserved.status, 400u);
  });
}

TEST_P(EgressApi, Quota_RefusesConnectionsBeyondIt) {
  quotas_.limits.egress_connections = 0;
  serve_hello([this]() -> Task<> {
    auto made = co_await create(acme_, local);
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto refused = co_await bash(acme_, fetch(url()));
    EXPECT_THAT(refused, testing::StartsWith("429 "));
    auto listed = co_await outcomes();
    EXPECT_THAT(listed, testing::ElementsAre("over_quota"));
    EXPECT_EQ(hello_->served(), 0);
  });
}

TEST_P(EgressApi, SandboxOfALeaseWithANetwork_IsCleanForTheNext) {
  serve_hello([this]() -> Task<> {
    std::string body = std::string(R"({"network": )") + local + "}";
    auto lent = co_await call_as(acme_, "POST", "/sandboxes/python", std::move(body));
    EXPECT_EQ(lent.status, 200u) << json::serialize(lent.body);
    const std::string lease = "/sandboxes/" + lent.text("sandbox_id");
    const json::object run{{"command", "sh -c 'python3 -c \"import urllib.request as r; print(r.urlopen(\\\"" + url() +
                                           "\\\").status)\"'"}};
    auto ran = co_await call_as(acme_, "POST", lease + "/run", json::serialize(run));
    EXPECT_EQ(ran.text("stdout"), "200\n") << json::serialize(ran.body);
    auto back = co_await call_as(acme_, "DELETE", lease);
    EXPECT_EQ(back.status, 200u);
    // It is reset, not replaced, and has nothing of the network.
    auto next = co_await call_as(acme_, "POST", "/sandboxes/python");
    EXPECT_EQ(next.status, 200u) << json::serialize(next.body);
    const std::string again = "/sandboxes/" + next.text("sandbox_id");
    const json::object look{{"command", "sh -c 'env | grep -ci _proxy='"}};
    auto clean = co_await call_as(acme_, "POST", again + "/run", json::serialize(look));
    EXPECT_EQ(clean.text("stdout"), "0\n");
  });
}

TEST_P(EgressApi, RunThatCreatesASession_ChoosesItsNetwork) {
  serve_hello([this]() -> Task<> {
    const auto run = [&](std::string token, std::string network) -> Task<Answered> {
      json::object body{{"session_id", "s"}, {"command", fetch(url())}};
      if (!network.empty()) body["network"] = json::parse(network);
      std::string text = json::serialize(body);
      co_return co_await call_as(std::move(token), "POST", "/bash", std::move(text));
    };
    for (const char* network : {local, R"({"rules": ["missing"]})", R"("internet")"}) {
      auto refused = co_await run(other_, network);
      EXPECT_EQ(refused.status, 404u) << network;
    }
    auto invalid = co_await run(acme_, R"({"mode": "none", "allow": ["a.example"]})");
    EXPECT_EQ(invalid.status, 400u);
    auto reserved = co_await run(acme_, R"({"allow": ["127.0.0.1:1-65535"]})");
    EXPECT_EQ(reserved.status, 400u);
    auto unmade = co_await call_as(acme_, "GET", "/sessions/acme/s");
    EXPECT_EQ(unmade.status, 404u) << "none of them made a session";
    auto first = co_await run(acme_, local);
    EXPECT_EQ(first.text("stdout"), "200 hello\n") << json::serialize(first.body);
    auto same = co_await run(acme_, local);
    EXPECT_EQ(same.text("stdout"), "200 hello\n") << json::serialize(same.body);
    auto unsaid = co_await run(acme_, "");
    EXPECT_EQ(unsaid.text("stdout"), "200 hello\n") << json::serialize(unsaid.body);
    for (const char* network : {R"("none")", R"("internet")", R"({"allow": ["a.example"]})"}) {
      auto another = co_await run(acme_, network);
      EXPECT_EQ(another.status, 409u) << network;
    }
    auto missing = co_await run(acme_, R"({"rules": ["missing"]})");
    EXPECT_EQ(missing.status, 404u);
    EXPECT_EQ(hello_->served(), 3);
  });
}

TEST_P(EgressApi, RunInASessionWithoutNetwork_MaySayNoneOnly) {
  serve_hello([this]() -> Task<> {
    auto closed = co_await bash(other_, "env | grep -ci _proxy=");
    EXPECT_EQ(closed, "0\n");
    auto none = co_await call_as(other_, "POST", "/execute",
                                 R"json({"session_id": "s", "code": "print(1)", "network": "none"})json");
    EXPECT_EQ(none.status, 200u) << json::serialize(none.body);
    auto other = co_await call_as(other_, "POST", "/execute",
                                  R"json({"session_id": "s", "code": "print(1)", "network": "internet"})json");
    EXPECT_EQ(other.status, 404u) << "as if there was no network";
  });
}

TEST_P(EgressApi, OneShotRun_HasTheNetworkThatItChooses) {
  serve_hello([this]() -> Task<> {
    const auto execute = [&](std::string token, std::string network) -> Task<Answered> {
      const std::string code = "import urllib.request as r\nprint(r.urlopen('" + url() + "', timeout=20).status)\n";
      const json::object file{{"filename", "main.py"}, {"content", code}};
      json::object body{{"language", "python"}, {"submission_files", json::array{file}}};
      if (!network.empty()) body["network"] = json::parse(network);
      std::string text = json::serialize(body);
      co_return co_await call_as(std::move(token), "POST", "/api/v1/execute", std::move(text));
    };
    const auto printed = [](const Answered& answered) {
      EXPECT_EQ(answered.status, 200u) << json::serialize(answered.body);
      return answered.status == 200u ? std::string(answered.body.at("results").at(0).at("stdout").as_string()) : "";
    };
    auto reached = co_await execute(acme_, local);
    EXPECT_EQ(printed(reached), "200\n");
    auto plain = co_await execute(acme_, "");
    EXPECT_EQ(printed(plain), "");
    auto none = co_await execute(other_, R"("none")");
    EXPECT_EQ(printed(none), "");
    EXPECT_EQ(hello_->served(), 1);
    for (const char* network : {local, R"("internet")"}) {
      auto refused = co_await execute(other_, network);
      EXPECT_EQ(refused.status, 404u) << network;
      EXPECT_TRUE(refused.body.as_object().contains("detail"));
    }
    auto missing = co_await execute(acme_, R"({"rules": ["missing"]})");
    EXPECT_EQ(missing.status, 404u);
    auto invalid = co_await execute(acme_, R"({"mode": "sometimes"})");
    EXPECT_EQ(invalid.status, 422u);
  });
}

TEST_P(EgressApi, NetworkOverAProfileWithoutOne_RedirectsWhereTheBackendCan) {
  // The error of a connection that uses no proxy, to an address that no rule allows.
  const std::string direct =
      "python3 -c \"import socket; s = socket.socket(); s.settimeout(20)\n"
      "try: s.connect(('192.0.2.1', 80)); print(s.recv(1))\n"
      "except OSError as e: print(type(e).__name__)\"";
  const std::string names =
      "python3 -c \"import socket\n"
      "try: print(socket.getaddrinfo('a.example', 80)[0][4][0][:4])\n"
      "except OSError as e: print(type(e).__name__)\"";
  const std::string ports =
      "python3 -c \"import socket\n"
      "print([socket.socket().connect_ex(('127.0.0.1', p)) for p in (3128, 3129, 3153)])\"";
  const bool redirects = GetParam().backend == "oci" && GetParam().runtime == "crun";
  serve_hello([=, this]() -> Task<> {
    auto closed = co_await bash(acme_, direct);
    EXPECT_EQ(closed, redirects ? "ConnectionRefusedError\n" : "OSError\n");
    auto unnamed = co_await bash(acme_, names);
    EXPECT_EQ(unnamed, "gaierror\n");
    auto nothing = co_await bash(acme_, ports);
    EXPECT_EQ(nothing, "[111, 111, 111]\n");
    auto before = co_await outcomes();
    EXPECT_TRUE(before.empty());

    auto changed = co_await change(local);
    EXPECT_EQ(changed.status, 200u) << json::serialize(changed.body);
    auto refused = co_await bash(acme_, direct);
    EXPECT_EQ(refused, redirects ? "ConnectionResetError\n" : "OSError\n");
    auto named = co_await bash(acme_, names);
    EXPECT_EQ(named, redirects ? "198.\n" : "gaierror\n");
    auto listed = co_await outcomes();
    EXPECT_EQ(listed.size(), redirects ? 1u : 0u);

    auto off = co_await change(R"("none")");
    EXPECT_EQ(off.status, 200u) << json::serialize(off.body);
    auto again = co_await bash(acme_, direct);
    EXPECT_EQ(again, closed);
    auto silent = co_await bash(acme_, ports);
    EXPECT_EQ(silent, nothing);
    // A tenant that may not choose a network has sandboxes of the same profile.
    auto theirs = co_await bash(other_, direct);
    EXPECT_EQ(theirs, closed);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, EgressApi,
                         testing::Values(Target{"oci", "crun"}, Target{"oci", "runsc"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
