#include "egress/broker/socks.hpp"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using namespace std::string_literals;

TEST(Socks, EveryPrefixOfAGreeting_IsIncomplete) {
  const std::string greeting = "\x05\x02\x02\x00"s;
  for (std::size_t size = 0; size < greeting.size(); ++size) {
    EXPECT_EQ(read_socks_greeting(greeting.substr(0, size)).state, SocksState::incomplete) << size;
  }
  const auto read = read_socks_greeting(greeting + "more");
  EXPECT_EQ(read.state, SocksState::complete);
  EXPECT_EQ(read.size, 4u);
  EXPECT_TRUE(read.without_password);
  EXPECT_FALSE(read_socks_greeting("\x05\x01\x02").without_password);
  EXPECT_FALSE(read_socks_greeting("\x05\x00"s).without_password);
  EXPECT_EQ(read_socks_greeting("\x04\x01").state, SocksState::invalid);
}

TEST(Socks, Requests_AreReadWithEachKindOfAddress) {
  struct Case {
    std::string bytes;
    std::string host;
  };
  for (const Case& each :
       {Case{"\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb"s, "1.2.3.4"},
        Case{"\x05\x01\x00\x03\x05"
             "a.org\x01\xbb"s,
             "a.org"},
        Case{"\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01\x01\xbb", "::1"},
        Case{"\x05\x01\x00\x04"s + std::string(10, '\0') + "\xff\xff\x7f\x00\x00\x01\x01\xbb"s, "127.0.0.1"}}) {
    for (std::size_t size = 0; size < each.bytes.size(); ++size) {
      EXPECT_EQ(read_socks_request(each.bytes.substr(0, size)).state, SocksState::incomplete) << size;
    }
    const auto read = read_socks_request(each.bytes + "tail");
    EXPECT_EQ(read.state, SocksState::complete);
    EXPECT_EQ(read.size, each.bytes.size());
    EXPECT_EQ(read.command, 1);
    EXPECT_EQ(read.host, each.host);
    EXPECT_EQ(read.port, 443);
  }
}

TEST(Socks, OtherBytes_AreInvalid) {
  EXPECT_EQ(read_socks_request("\x04\x01").state, SocksState::invalid);
  EXPECT_EQ(read_socks_request("\x05\x01\x01\x01").state, SocksState::invalid);
  EXPECT_EQ(read_socks_request("\x05\x01\x00\x07\x00"s).host, "");
}

}  // namespace
}  // namespace cloche::egress
