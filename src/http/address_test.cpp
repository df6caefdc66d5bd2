// Addresses of services, and what is none.
#include "http/address.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

std::string shown(std::string_view url) {
  const auto address = parse_address(url, "/ca.pem");
  return address ? describe(address->endpoint) + " " + address->prefix : "none";
}

TEST(Address, ValidUrls_AreTakenApart) {
  EXPECT_EQ(shown("https://api.e2b.app"), "tls://api.e2b.app:443 ");
  EXPECT_EQ(shown("http://127.0.0.1:3000"), "tcp://127.0.0.1:3000 ");
  EXPECT_EQ(shown("http://localhost/"), "tcp://localhost:80 ");
  EXPECT_EQ(shown("https://host:8443/e2b/"), "tls://host:8443 /e2b");
  EXPECT_EQ(shown("http://[::1]:80/x/y"), "tcp://[::1]:80 /x/y");
  EXPECT_EQ(shown("unix:/run/x.sock"), "unix:///run/x.sock ");
  EXPECT_EQ(std::get<TlsEndpoint>(parse_address("https://a", "/ca.pem")->endpoint).files.authority, "/ca.pem");
}

TEST(Address, OtherTexts_AreRefused) {
  for (const char* url : {"", "e2b.app", "ftp://host", "https://", "https:///x", "http://a b", "http://host:0",
                          "http://host:65536", "http://host:x", "http://[::1", "http://[x]", "http://host/a?b",
                          "http://host/a#b", "http://host\r\nX: y", "unix:x", "unix://x", "http://-x", "http://.x"}) {
    EXPECT_FALSE(parse_address(url, "")) << url;
  }
  const auto secret = parse_address("http://user:password@host", "");
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().message.find("password"), std::string::npos);
}

TEST(Address, Domains_AreHostNamesWithOrWithoutAPort) {
  EXPECT_TRUE(is_domain("e2b.app"));
  EXPECT_TRUE(is_domain("sbx.example.com:18443"));
  for (const char* text : {"", "a/b", "a b", "a:", "a:b", "a@b", "a\r\nb", ":80"})
    EXPECT_FALSE(is_domain(text)) << text;
}

}  // namespace
}  // namespace cloche::http
