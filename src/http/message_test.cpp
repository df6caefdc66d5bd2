#include "http/message.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

Request request(std::string method, std::string target) {
  Request made;
  made.method = std::move(method);
  made.target = std::move(target);
  return made;
}

TEST(SerialiseHead, PostWithoutBody_SaysLengthZero) {
  const auto head = serialise_head(request("POST", "/x?a=b"), "localhost", "keep-alive");
  ASSERT_TRUE(head);
  EXPECT_EQ(*head, "POST /x?a=b HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
}

TEST(SerialiseHead, LineBreakAnywhere_IsRefused) {
  EXPECT_FALSE(serialise_head(request("GET", "/x\r\nEvil: 1"), "h", "close"));
  EXPECT_FALSE(serialise_head(request("GET", "/x y"), "h", "close"));
  EXPECT_FALSE(serialise_head(request("GET\r\n", "/x"), "h", "close"));
  EXPECT_FALSE(serialise_head(request("GET", "/x"), "h\r\nEvil: 1", "close"));
  EXPECT_FALSE(serialise_head(request("GET", std::string("/x\0", 3)), "h", "close"));
  auto with_field = request("GET", "/x");
  with_field.fields.emplace_back("A", "b\r\nEvil: 1");
  EXPECT_FALSE(serialise_head(with_field, "h", "close"));
  with_field.fields = {{"A b", "c"}};
  EXPECT_FALSE(serialise_head(with_field, "h", "close"));
}

TEST(SerialiseHead, Source_IsSentInChunks) {
  auto streamed = request("PUT", "/x");
  streamed.source = []() -> Task<Result<std::string>> { co_return std::string(); };
  const auto head = serialise_head(streamed, "h", "keep-alive");
  ASSERT_TRUE(head);
  EXPECT_NE(head->find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(head->find("Content-Length"), std::string::npos);
}

TEST(Endpoint, DescribeAndHost_BracketIPv6) {
  EXPECT_EQ(describe(TcpEndpoint{"::1", "80"}), "tcp://[::1]:80");
  EXPECT_EQ(host_header(TcpEndpoint{"::1", "80"}), "[::1]");
  EXPECT_EQ(host_header(TcpEndpoint{"::1", "81"}), "[::1]:81");
  EXPECT_EQ(describe(UnixEndpoint{"/run/x.sock"}), "unix:///run/x.sock");
  EXPECT_EQ(host_header(UnixEndpoint{"/run/x.sock"}), "localhost");
}

}  // namespace
}  // namespace cloche::http
