#include "dialect/e2b/routing.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

struct Request {
  std::string method = "GET";
  std::string target = "/";
  http::Fields fields;
};

Routed routed(const Request& request, std::string_view domain = "") {
  return route_of(request.method, *http::parse_target(request.target), request.fields, domain);
}

http::Fields host(std::string name, http::Fields more = {}) {
  more.emplace_back("Host", std::move(name));
  return more;
}

const http::Fields headers{{"E2b-Sandbox-Id", "iabc"}, {"E2b-Sandbox-Port", "49983"}};

TEST(Routing, RequestOfOurOwnApi_IsNotClaimed) {
  for (const char* target :
       {"/", "/healthz", "/sandboxes/python", "/sandboxes/abc/run", "/sessions", "/files", "/files?path=x",
        "/v1/sandbox/sessions", "/health/x", "/sandboxes/x/files?signature=v1_x"}) {
    for (const std::string& domain : {std::string(), std::string("sbx.test")}) {
      const Request request{"GET", target, host("127.0.0.1:8080", {{"Authorization", "Bearer x"}})};
      EXPECT_EQ(routed(request, domain).to, Destination::own_routes) << target;
    }
  }
  EXPECT_EQ(routed({"POST", "/health", host("localhost")}).to, Destination::own_routes);
}

TEST(Routing, ApiKey_IsTheControlPlane) {
  for (const char* target : {"/sandboxes", "/sandboxes/python", "/v2/sandboxes", "/anything"}) {
    EXPECT_EQ(routed({"POST", target, host("x", {{"x-api-key", ""}})}).to, Destination::control) << target;
  }
  EXPECT_EQ(routed({"GET", "/health", host("x")}).to, Destination::control);
}

TEST(Routing, Headers_NameTheSandbox) {
  const Routed to = routed({"POST", "/process.Process/Start", host("cloche.example:80", headers)});
  EXPECT_EQ(to.to, Destination::sandbox);
  EXPECT_EQ(to.sandbox, "iabc");
  EXPECT_EQ(to.port, 49983);
  EXPECT_EQ(to.by, NamedBy::header);
}

TEST(Routing, SandboxAndApiKey_IsTheSandbox) {
  http::Fields fields = host("localhost", headers);
  fields.emplace_back("X-API-Key", "k");
  EXPECT_EQ(routed({"GET", "/health", fields}).to, Destination::sandbox);
}

TEST(Routing, HeadersWithADomain_CountOnlyWhereTheHostSaysNothing) {
  for (const char* name : {"localhost", "localhost:8080", "127.0.0.1:1", "10.1.2.3", "[::1]:8080", "sandbox.sbx.test",
                           "SANDBOX.sbx.TEST:8443", ""}) {
    EXPECT_EQ(routed({"GET", "/", host(name, headers)}, "sbx.test:8443").to, Destination::sandbox) << name;
  }
  for (const char* name : {"sbx.test", "evil.example", "localhost.evil.example", "x.sandbox.sbx.test"}) {
    EXPECT_EQ(routed({"GET", "/", host(name, headers)}, "sbx.test").to, Destination::invalid) << name;
  }
  EXPECT_EQ(routed({"GET", "/", host("api.sbx.test", headers)}, "sbx.test").to, Destination::control);
}

TEST(Routing, HostName_WinsOverHeaders) {
  const Routed to = routed({"GET", "/", host("3000-iother.sbx.test:443", headers)}, "sbx.test");
  EXPECT_EQ(to.to, Destination::sandbox);
  EXPECT_EQ(to.sandbox, "iother");
  EXPECT_EQ(to.port, 3000);
  EXPECT_EQ(to.by, NamedBy::host);
}

TEST(Routing, HostName_HasNoMeaningWithoutADomain) {
  EXPECT_EQ(routed({"GET", "/", host("3000-iother.sbx.test")}).to, Destination::own_routes);
  EXPECT_EQ(routed({"GET", "/", host("3000-iother.other.test")}, "sbx.test").to, Destination::own_routes);
  EXPECT_EQ(routed({"GET", "/", host("3000-iother.evilsbx.test")}, "sbx.test").to, Destination::own_routes);
}

TEST(Routing, InvalidNames_AreRefused) {
  for (const auto& [id, port] : std::vector<std::pair<std::string, std::string>>{{"", "1"},
                                                                                 {"I1", "1"},
                                                                                 {"a/b", "1"},
                                                                                 {"a.b", "1"},
                                                                                 {"-a", "1"},
                                                                                 {std::string(41, 'a'), "1"},
                                                                                 {"a", ""},
                                                                                 {"a", "0"},
                                                                                 {"a", "65536"},
                                                                                 {"a", "1x"},
                                                                                 {"a", "-1"},
                                                                                 {"a", " 1"},
                                                                                 {"a\xc3\xa4", "1"}}) {
    const http::Fields fields = host("localhost", {{"E2b-Sandbox-Id", id}, {"E2b-Sandbox-Port", port}});
    EXPECT_EQ(routed({"GET", "/", fields}).to, Destination::invalid) << id << " " << port;
  }
  EXPECT_EQ(routed({"GET", "/", host("localhost", {{"E2b-Sandbox-Id", "a"}})}).to, Destination::invalid);
  for (const char* name :
       {"0-a.sbx.test", "99999-a.sbx.test", "3x-a.sbx.test", "3000-.sbx.test", "3000-a_b.sbx.test"}) {
    EXPECT_EQ(routed({"GET", "/", host(name)}, "sbx.test").to, Destination::invalid) << name;
  }
  http::Fields twice = host("localhost", headers);
  twice.emplace_back("e2b-sandbox-id", "iother");
  EXPECT_EQ(routed({"GET", "/", twice}).to, Destination::invalid);
}

TEST(Routing, OldIdWithAClient_LosesIt) {
  EXPECT_EQ(sandbox_id_of("abc-def"), "abc");
  EXPECT_EQ(routed({"GET", "/", host("80-abc-def.sbx.test")}, "sbx.test").sandbox, "abc");
  EXPECT_EQ(sandbox_id_of("-def"), "");
}

TEST(Routing, SignedFileWithoutASandbox_IsLookedFor) {
  for (const char* target : {"/files?path=a&signature=v1_x", "/files?signature=v1_x&path=a"}) {
    EXPECT_EQ(routed({"GET", target, host("localhost")}).to, Destination::signed_file);
    EXPECT_EQ(routed({"POST", target, host("localhost")}).to, Destination::signed_file);
    EXPECT_EQ(routed({"DELETE", target, host("localhost")}).to, Destination::own_routes);
    EXPECT_EQ(routed({"GET", target, host("localhost", headers)}).to, Destination::sandbox);
  }
}

TEST(Routing, HostsOfTheDomain_AreKnown) {
  EXPECT_TRUE(is_host_of("api.sbx.test:443", "sbx.test:8443"));
  EXPECT_TRUE(is_host_of("80-a.sbx.test", "sbx.test"));
  EXPECT_FALSE(is_host_of("sbx.test", "sbx.test"));
  EXPECT_FALSE(is_host_of("www.sbx.test", "sbx.test"));
  EXPECT_FALSE(is_host_of("api.", ""));
}

}  // namespace
}  // namespace cloche::dialect::e2b
