// Redirects of servers in sandboxes: where a client that follows them gets to.
#include "api/proxy/location.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace cloche::api {
namespace {

constexpr std::string_view prefix = "/sessions/t/s/proxy/8000";

ProxyPlace place(std::string path = "/a/b") {
  ProxyPlace place;
  place.prefix = prefix;
  place.path = std::move(path);
  place.port = 8000;
  place.service = {{"svc.example", 8080}, {"10.0.0.7", 8080}, {"localhost", 8080}};
  return place;
}

std::string below(std::string_view path) { return std::string(prefix) + std::string(path); }

std::string moved(std::string_view url) {
  const auto to = proxied_url(url, place());
  return to ? *to : "refused: " + to.error().message;
}

// How a client resolves a URL that it received at svc.example:8080, by the WHATWG rules. It is independent of the code
// under test and covers only what these tests need.
struct Resolved {
  std::string host;  // with its port; empty: another scheme
  std::string path;
};

std::string client_path(std::string text) {
  std::vector<std::string> stack;
  std::string segment;
  const auto close = [&](bool last) {
    std::string plain;
    for (std::size_t i = 0; i < segment.size(); ++i) {
      if (segment.compare(i, 3, "%2e") == 0 || segment.compare(i, 3, "%2E") == 0) {
        plain += '.';
        i += 2;
      } else {
        plain += segment[i];
      }
    }
    if (plain == "..") {
      if (!stack.empty()) stack.pop_back();
      if (last) stack.emplace_back();
    } else if (plain == ".") {
      if (last) stack.emplace_back();
    } else {
      stack.push_back(segment);
    }
    segment.clear();
  };
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/' || text[i] == '\\') {
      close(false);
    } else {
      segment += text[i];
    }
  }
  close(true);
  std::string path;
  for (const auto& each : stack) path += "/" + each;
  return path;
}

Resolved as_client(std::string url, const std::string& base_path) {
  std::erase_if(url, [](char c) { return c == '\t'; });
  while (url.starts_with(' ')) url.erase(0, 1);
  std::string host = "svc.example:8080";
  const auto colon = url.find(':');
  const auto first = url.find_first_of("/\\?#");
  if (colon != std::string::npos && colon < first && colon > 0 && isalpha(static_cast<unsigned char>(url[0])) != 0) {
    std::string scheme = url.substr(0, colon);
    for (char& c : scheme) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
    if (scheme != "http" && scheme != "https") return {};
    url.erase(0, colon + 1);
    const bool is_relative = scheme == "http" && !url.starts_with("//");
    if (!is_relative) {
      while (!url.empty() && (url[0] == '/' || url[0] == '\\')) url.erase(0, 1);
      url.insert(0, "//");
    }
  }
  const auto slash = [&](std::size_t i) { return i < url.size() && (url[i] == '/' || url[i] == '\\'); };
  if (slash(0) && slash(1)) {
    std::size_t start = 2;
    while (slash(start)) ++start;
    const auto end = std::min(url.find_first_of("/\\?#", start), url.size());
    host = url.substr(start, end - start);
    if (const auto at = host.rfind('@'); at != std::string::npos) host.erase(0, at + 1);
    for (char& c : host) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
    url.erase(0, end);
    if (!slash(0)) url.insert(0, "/");
  }
  url.erase(std::min(url.find_first_of("?#"), url.size()));
  if (url.empty()) return {host, base_path};
  if (!slash(0)) url.insert(0, base_path.substr(0, base_path.rfind('/') + 1));
  return {host, client_path(url)};
}

TEST(ProxiedUrl, WithinTheServer_GetsThePrefix) {
  EXPECT_EQ(moved("/login?x=1"), below("/login?x=1"));
  EXPECT_EQ(moved("/"), below("/"));
  EXPECT_EQ(moved("login"), below("/a/login"));
  EXPECT_EQ(moved("./login#f"), below("/a/login#f"));
  EXPECT_EQ(moved("../login"), below("/login"));
  EXPECT_EQ(moved("."), below("/a/"));
  EXPECT_EQ(moved("?page=2"), "?page=2");
  EXPECT_EQ(moved("#top"), "#top");
  EXPECT_EQ(moved(""), "");
  EXPECT_EQ(moved("/a//b/"), below("/a//b/"));
  EXPECT_EQ(moved("/with space"), below("/with%20space"));
  EXPECT_EQ(moved("/q?next=/../x&u=http://svc.example:8080/"), below("/q?next=/../x&u=http://svc.example:8080/"));
}

TEST(ProxiedUrl, ServerThatKnowsItsPrefix_DoesNotGetItTwice) {
  EXPECT_EQ(moved(below("/x")), below("/x"));
  EXPECT_EQ(moved(below("")), below(""));
  EXPECT_EQ(moved("/sessions/t/s/proxy/80001/x"), below("/sessions/t/s/proxy/80001/x"));
  EXPECT_EQ(moved(below("/../x")), below("/sessions/t/s/proxy/x"));
}

TEST(ProxiedUrl, OwnAddressOfTheServer_IsAPathOfIt) {
  for (const char* host : {"http://localhost:8000", "HTTP://LocalHost:8000", "http://127.0.0.1:8000",
                           "http://[::1]:8000", "http://0.0.0.0:8000", "http://127.1:8000", "http://0x7f000001:8000",
                           "http://2130706433:8000", "http://[::ffff:127.0.0.1]:8000", "http://localhost.:8000"}) {
    EXPECT_EQ(moved(std::string(host) + "/x"), below("/x")) << host;
    EXPECT_EQ(moved(host), below("/")) << host;
    EXPECT_EQ(moved(std::string(host) + "/../../x"), below("/x")) << host;
    EXPECT_EQ(moved(std::string(host) + "//evil.example/"), below("//evil.example/")) << host;
  }
  ProxyPlace on_80 = place();
  on_80.port = 80;
  EXPECT_EQ(proxied_url("http://localhost/a", on_80).value(), below("/a"));
  ProxyPlace same_port = place();
  same_port.port = 8080;
  EXPECT_EQ(proxied_url("http://localhost:8080/a", same_port).value(), below("/a"));
}

TEST(ProxiedUrl, DotSegments_EndAtTheServersRoot) {
  for (const char* up : {"/../../../../tenant-b/victim", "/%2e%2e/%2E%2e/tenant-b/victim", "/.%2e/%2e./tenant-b/victim",
                         "/x/../../../tenant-b/victim", "../../../../tenant-b/victim", "\\..\\..\\tenant-b\\victim",
                         "/..\\../tenant-b/victim", "..\\..\\..\\tenant-b/victim", "/\t../.\t./tenant-b/victim",
                         " /../tenant-b/victim"}) {
    EXPECT_EQ(moved(up), below("/tenant-b/victim")) << up;
  }
  EXPECT_EQ(moved("/.."), below("/"));
  EXPECT_EQ(moved("/%2e%2e"), below("/"));
  EXPECT_EQ(moved("/..a/...//..b"), below("/..a/...//..b"));
}

TEST(ProxiedUrl, OtherHosts_StayAsTheyAre) {
  for (const char* url : {"https://elsewhere.example/", "http://elsewhere.example:8080/x", "//elsewhere.example/a/../b",
                          "http://svc.example:9000/", "http://localhost:33333/callback",
                          "http://169.254.169.254/latest/", "http://[2001:db8::1]/x", "mailto:a@b.example",
                          "custom-app:callback", "http://svc.example.evil.example:8080/"}) {
    EXPECT_EQ(moved(url), url);
  }
}

TEST(ProxiedUrl, TheService_IsOutOfReachByAnyOfItsNames) {
  for (const char* host :
       {"http://svc.example:8080", "https://svc.example:8080", "//svc.example:8080", "HTTP://SVC.Example:8080",
        "http://svc.example.:8080", "http://10.0.0.7:8080", "http://10.7:8080", "http://0xa.0.0.7:8080",
        "http://167772167:8080", "http://[::ffff:10.0.0.7]:8080", "http://localhost:8080", "http://127.0.0.1:8080",
        "http://[::1]:8080", "http://0:8080", "http://x.localhost:8080", "http://127.255.0.1:8080"}) {
    EXPECT_TRUE(moved(std::string(host) + "/sessions/tenant-b/victim").starts_with("refused")) << host;
    EXPECT_TRUE(moved(std::string(host)).starts_with("refused")) << host;
    EXPECT_TRUE(moved(std::string(host) + below("/../../9000/x")).starts_with("refused")) << host;
    EXPECT_EQ(moved(std::string(host) + below("/x/../y?z")), below("/y?z")) << host;
  }
}

TEST(ProxiedUrl, NameWithoutAPort_IsTheServicesByEitherScheme) {
  ProxyPlace public_name = place();
  public_name.service = {{"svc.example", 0}};
  for (const char* url : {"http://svc.example/x", "https://svc.example/x", "//svc.example/x",
                          "https://svc.example:443/x", "http://svc.example:80/x", "http://svc.example:/x"}) {
    EXPECT_FALSE(proxied_url(url, public_name)) << url;
  }
  EXPECT_TRUE(proxied_url("http://svc.example:9000/x", public_name));
  public_name.service = {{"svc.example", 443}};
  EXPECT_FALSE(proxied_url("https://svc.example/x", public_name));
  EXPECT_FALSE(proxied_url("//svc.example/x", public_name));
}

TEST(ProxiedUrl, WhatClientsReadInSeveralWays_IsRefused) {
  for (const char* url : {"http:/x",
                          "http:x",
                          "https:x",
                          "http:///svc.example:8080/",
                          "http:\\\\svc.example:8080\\",
                          "///svc.example:8080/",
                          "/\\svc.example:8080/",
                          "\\\\svc.example:8080/",
                          "\\/svc.example:8080/",
                          "/\t/svc.example:8080//\\x",
                          "http://evil.example\\@svc.example:8080/",
                          "http://svc.example:8080\\@evil.example/",
                          "http://evil.example@svc.example:8080/",
                          "http://evil@x@svc.example/",
                          "http://svc.example%2f:8080/",
                          "http://svc%2eexample:8080/",
                          "http://ｓvc.example:8080/",
                          "http://svc.example:8080:80/",
                          "http://svc.example:99999/",
                          "http://svc.example:0/",
                          "http://[::1/",
                          "http://",
                          "http://256.1.1.1.1/",
                          "http://1.2.3.999/",
                          "http://elsewhere.example\\..\\x",
                          "/a/..%2f..%2fx",
                          "/%2e%2e%2fx",
                          "/a%5c..%5cx",
                          "/x/..%5C..",
                          "http://localhost:8000/..%2fx"}) {
    EXPECT_TRUE(moved(url).starts_with("refused")) << url << " became " << moved(url);
  }
}

TEST(ProxiedUrl, WhateverComesOut_NoClientLeavesThePrefix) {
  const std::vector<std::string> pieces = {"/",
                                           "//",
                                           "\\",
                                           "..",
                                           ".",
                                           "%2e",
                                           "%2E%2e",
                                           "%2f",
                                           "%5c",
                                           "?",
                                           "#",
                                           ":",
                                           "@",
                                           "\t",
                                           " ",
                                           "http:",
                                           "https:",
                                           "HTTP://",
                                           "svc.example",
                                           "svc.example:8080",
                                           "localhost:8000",
                                           "localhost:8080",
                                           "127.1:8080",
                                           "10.0.0.7:8080",
                                           "evil.example",
                                           "a",
                                           "sessions",
                                           "tenant-b",
                                           std::string(prefix),
                                           "[::1]:8080",
                                           "0x7f.1",
                                           "javascript:",
                                           "%",
                                           "é"};
  std::mt19937 random(20261116);
  const std::string base = below("/a/b");
  int kept = 0;
  for (int i = 0; i < 300'000; ++i) {
    std::string url;
    const auto count = random() % 7;
    for (unsigned j = 0; j < count; ++j) url += pieces[random() % pieces.size()];
    const auto to = proxied_url(url, place());
    if (!to) continue;
    ++kept;
    const Resolved seen = as_client(*to, base);
    const bool ours = seen.host == "svc.example:8080" || seen.host == "localhost:8080" || seen.host == "127.1:8080" ||
                      seen.host == "10.0.0.7:8080" || seen.host == "[::1]:8080";
    if (!ours) continue;
    const bool inside = seen.path == prefix || seen.path.starts_with(std::string(prefix) + "/");
    ASSERT_TRUE(inside) << "'" << url << "' became '" << *to << "', which is " << seen.host << seen.path;
  }
  EXPECT_GT(kept, 50'000);
}

TEST(NamesOfService, AreAllThatTheClientMayKnow) {
  const http::Fields request{{"Host", "Svc.Example:8443"},
                             {"X-Forwarded-Host", "front.example, inner.example:81"},
                             {"Forwarded", "for=1.2.3.4;host=\"other.example:444\", host=third.example"}};
  http::Peer peer;
  peer.local_address = "10.0.0.7";
  peer.local_port = 8080;
  const auto names = names_of_service(request, peer);
  for (const HostPort& wanted : std::vector<HostPort>{{"svc.example", 8443},
                                                      {"front.example", 0},
                                                      {"inner.example", 81},
                                                      {"other.example", 444},
                                                      {"third.example", 0},
                                                      {"10.0.0.7", 8080},
                                                      {"localhost", 8080}}) {
    EXPECT_NE(std::ranges::find(names, wanted), names.end()) << wanted.host;
  }
  EXPECT_TRUE(names_of_service({}, {}).empty());
}

}  // namespace
}  // namespace cloche::api
