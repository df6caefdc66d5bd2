// What passes between clients and servers in sandboxes, and what does not.
#include "api/proxy/head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::api {

using testing::HasSubstr;
using testing::Not;

namespace {

ProxyHead get(std::string target) {
  ProxyHead head;
  head.method = "GET";
  head.target = std::move(target);
  head.port = 8000;
  head.prefix = "/sessions/t/s/proxy/8000";
  return head;
}

Result<http::Fields> answered(const http::Fields& fields) {
  ProxyPlace place;
  place.prefix = "/p";
  place.path = "/";
  place.port = 8000;
  place.service = {{"svc.example", 0}};
  return proxied_answer_fields(fields, place);
}

std::string location_of(std::string location) {
  const http::Fields fields{{"Location", std::move(location)}};
  return std::string(http::field_value(answered(fields).value(), "Location"));
}

}  // namespace

TEST(ReadPort, OnlyPorts_AreTaken) {
  EXPECT_EQ(read_port("1"), 1);
  EXPECT_EQ(read_port("65535"), 65535);
  for (const char* text : {"", "0", "65536", "-1", "80x", "+80", " 80", "99999999999999999999"}) {
    EXPECT_FALSE(read_port(text)) << text;
  }
}

TEST(ProxyHead, Request_NamesTheSandboxAsItsHost) {
  const std::string text = serialise_proxy_head(get("/a/b?c=d"));
  EXPECT_TRUE(text.starts_with("GET /a/b?c=d HTTP/1.1\r\nHost: localhost:8000\r\n")) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
  EXPECT_THAT(text, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(text, HasSubstr("X-Forwarded-Prefix: /sessions/t/s/proxy/8000\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(text, Not(HasSubstr("Transfer-Encoding")));
}

TEST(ProxyHead, HostOfItsOwn_ReplacesThatOfTheSandbox) {
  ProxyHead head = get("/");
  head.fields = {{"Host", "8000-abc.sbx.test"}};
  head.host = "app.example:8000";
  const std::string text = serialise_proxy_head(head);
  EXPECT_TRUE(text.starts_with("GET / HTTP/1.1\r\nHost: app.example:8000\r\n")) << text;
}

TEST(ProxyHead, WhatProvesWhoTheClientIs_StaysHere) {
  ProxyHead head = get("/");
  head.fields = {{"Host", "cloche.example"}, {"authorization", "Bearer secret"},  {"Cookie", "id=secret"},
                 {"Accept", "text/html"},    {"Connection", "keep-alive, X-Hop"}, {"X-Hop", "1"},
                 {"TE", "trailers"},         {"Proxy-Authorization", "secret"},   {"Expect", "100-continue"},
                 {"Content-Length", "7"}};
  const std::string text = serialise_proxy_head(head);
  EXPECT_THAT(text, HasSubstr("Accept: text/html\r\n"));
  for (const char* gone : {"secret", "cloche.example", "keep-alive", "X-Hop", "TE:", "Expect", "Content-Length"}) {
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  }
}

TEST(ProxyHead, ServerWithAHostOfItsOwn_GetsItsCredentials) {
  ProxyHead head = get("/");
  head.served_as = ServedAs::host;
  head.fields = {{"Host", "8000-abc.sbx.test"},
                 {"authorization", "Bearer own"},
                 {"Cookie", "id=own"},
                 {"X-Forwarded-For", "secret"},
                 {"Proxy-Authorization", "secret"}};
  const std::string text = serialise_proxy_head(head);
  for (const char* kept : {"Host: localhost:8000\r\n", "authorization: Bearer own\r\n", "Cookie: id=own\r\n",
                           "X-Forwarded-Host: 8000-abc.sbx.test\r\n"}) {
    EXPECT_THAT(text, HasSubstr(kept));
  }
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, Not(HasSubstr("X-Forwarded-Prefix")));
}

TEST(ProxiedAnswer, ServerWithAHostOfItsOwn_SpeaksForThatHostAlone) {
  ProxyPlace place;
  place.path = "/";
  place.port = 8000;
  place.service = {{"8000-abc.sbx.test", 0}};
  const http::Fields fields{{"Set-Cookie", "a=1; Path=/"},
                            {"Set-Cookie", "b=1; domain=sbx.test"},
                            {"Set-Cookie", "c=1;Secure; Domain =.sbx.test"},
                            {"Set-Cookie", "domain=1"},
                            {"Access-Control-Allow-Origin", "*"},
                            {"Content-Security-Policy", "default-src 'self'"},
                            {"Clear-Site-Data", "*"},
                            {"Date", "x"},
                            {"X-Accel-Redirect", "/etc"},
                            {"Location", "http://localhost:8000/next"}};
  const http::Fields passed = proxied_answer_fields(fields, place, ServedAs::host).value();
  const http::Fields expected{{"Set-Cookie", "a=1; Path=/"},
                              {"Set-Cookie", "domain=1"},
                              {"Access-Control-Allow-Origin", "*"},
                              {"Content-Security-Policy", "default-src 'self'"},
                              {"Location", "/next"}};
  EXPECT_EQ(passed, expected);
}

TEST(ProxyHead, Body_IsFramedOnce) {
  ProxyHead head = get("/");
  head.method = "POST";
  head.has_body = true;
  EXPECT_THAT(serialise_proxy_head(head), HasSubstr("Transfer-Encoding: chunked\r\n"));
  head.length = 12;
  EXPECT_THAT(serialise_proxy_head(head), HasSubstr("Content-Length: 12\r\n"));
  EXPECT_THAT(serialise_proxy_head(head), Not(HasSubstr("Transfer-Encoding")));
}

TEST(ProxyHead, WebSocket_IsAskedForAnew) {
  ProxyHead head = get("/");
  head.upgrades = true;
  head.fields = {{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Key", "k"}};
  const std::string text = serialise_proxy_head(head);
  EXPECT_THAT(text, HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_THAT(text, HasSubstr("Sec-WebSocket-Key: k\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("keep-alive")));
}

TEST(ProxyHead, WhatProxiesInFrontSayOfTheClient_StaysHere) {
  ProxyHead head = get("/");
  head.fields = {{"X-Forwarded-For", "secret"},
                 {"X-Forwarded-Host", "secret"},
                 {"x-forwarded-client-cert", "secret"},
                 {"Forwarded", "for=secret"},
                 {"X-Real-IP", "secret"},
                 {"Via", "1.1 secret"},
                 {"X-SSL-Client-Verify", "secret"},
                 {"X-Own", "kept"}};
  const std::string text = serialise_proxy_head(head);
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr("X-Own: kept\r\n"));
}

TEST(ProxiedAnswer, OnlyFieldsOfTheContent_ArePassed) {
  const http::Fields fields{{"Content-Type", "text/html"},
                            {"ETag", "\"1\""},
                            {"X-Own", "1"},
                            {"Mcp-Session-Id", "2"},
                            {"Transfer-Encoding", "chunked"},
                            {"Content-Security-Policy", "default-src 'self'"}};
  const http::Fields passed = answered(fields).value();
  EXPECT_THAT(passed,
              testing::UnorderedElementsAre(testing::Pair("Content-Type", "text/html"), testing::Pair("ETag", "\"1\""),
                                            testing::Pair("X-Own", "1"), testing::Pair("Mcp-Session-Id", "2"),
                                            testing::Pair("Content-Security-Policy", "default-src 'self'"),
                                            testing::Pair("Content-Security-Policy", "sandbox"),
                                            testing::Pair("X-Content-Type-Options", "nosniff"),
                                            testing::Pair("Cross-Origin-Resource-Policy", "same-origin")));
}

TEST(ProxiedAnswer, WhatSpeaksForOurOriginOrToAProxy_IsLeftOut) {
  for (const char* name : {"Set-Cookie",
                           "Set-Cookie2",
                           "Set-Login",
                           "Accept-CH",
                           "Critical-CH",
                           "Delegate-CH",
                           "Speculation-Rules",
                           "Clear-Site-Data",
                           "strict-transport-security",
                           "Public-Key-Pins",
                           "Public-Key-Pins-Report-Only",
                           "Expect-CT",
                           "Report-To",
                           "Reporting-Endpoints",
                           "NEL",
                           "Origin-Agent-Cluster",
                           "Service-Worker-Allowed",
                           "Service-Worker-Navigation-Preload",
                           "Alt-Svc",
                           "Alt-Used",
                           "Permissions-Policy-Report-Only",
                           "Content-Security-Policy-Report-Only",
                           "Cross-Origin-Opener-Policy-Report-Only",
                           "Access-Control-Allow-Origin",
                           "Access-Control-Allow-Credentials",
                           "Timing-Allow-Origin",
                           "WWW-Authenticate",
                           "Proxy-Authenticate",
                           "Authentication-Info",
                           "Refresh",
                           "Link",
                           "URI",
                           "SourceMap",
                           "X-SourceMap",
                           "X-Accel-Redirect",
                           "X-Accel-Buffering",
                           "X-Sendfile",
                           "X-Lighttpd-Send-File",
                           "X-Reproxy-URL",
                           "X-Forwarded-Host",
                           "X-Permitted-Cross-Domain-Policies",
                           "X-DNS-Prefetch-Control",
                           "Observe-Browsing-Topics",
                           "Attribution-Reporting-Register-Source",
                           "Shared-Storage-Write",
                           "Ad-Auction-Signals",
                           "Sec-Session-Registration",
                           "Supports-Loading-Mode",
                           "Activate-Storage-Access",
                           "Use-As-Dictionary",
                           "No-Vary-Search",
                           "IdP-SignIn-Status",
                           "Document-Policy",
                           "Date",
                           "X-Request-Id",
                           "Some-Field-Of-2031"}) {
    EXPECT_EQ(http::field_value(answered({{name, "x"}}).value(), name) == "x", false) << name;
  }
}

TEST(ProxiedAnswer, Location_StaysBelowThePrefix) {
  EXPECT_EQ(location_of("/login?x=1"), "/p/login?x=1");
  EXPECT_EQ(location_of("login"), "/p/login");
  EXPECT_EQ(location_of("/../x"), "/p/x");
  EXPECT_EQ(location_of("https://elsewhere.example/"), "https://elsewhere.example/");
  EXPECT_FALSE(answered({{"Location", "http://svc.example/x"}}));
  EXPECT_FALSE(answered({{"Location", "/a"}, {"location", "/b"}})) << "clients differ in which one they take";
  EXPECT_EQ(http::field_value(answered({{"Content-Location", "/../x"}}).value(), "Content-Location"), "/p/x");
  EXPECT_EQ(http::field_value(answered({{"Content-Location", "http://svc.example/x"}}).value(), "Content-Location"),
            "");
}

TEST(ProxiedUpgrade, OnlyTheHandshake_IsPassedBack) {
  const http::Fields fields{{"Upgrade", "websocket"},
                            {"Connection", "Upgrade"},
                            {"Sec-WebSocket-Accept", "a"},
                            {"Set-Cookie", "a=b"},
                            {"Sec-WebSocket-Protocol", "chat"}};
  EXPECT_THAT(proxied_upgrade_fields(fields),
              testing::ElementsAre(testing::Pair("Upgrade", "websocket"), testing::Pair("Sec-WebSocket-Accept", "a"),
                                   testing::Pair("Sec-WebSocket-Protocol", "chat")));
}

}  // namespace cloche::api
