#include "agent/reset/open_sockets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace cloche::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OpenSockets, ListenerAndOneThatTheKernelKeeps_AreFound) {
  const char* text =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1266 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17 1 0 100 0 0 10 0\n"
      "   1: 0100007F:1269 0100007F:D2F2 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0\n";
  EXPECT_THAT(parse_sockets("tcp", text),
              ElementsAre("socket tcp 0100007F:1266 in state 0A", "socket tcp 0100007F:1269 in state 06"));
}

TEST(OpenSockets, UnixSocketWithAnAbstractName_IsFoundAndNoOther) {
  const char* text =
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 31 @mark\n"
      "0000000000000000: 00000003 00000000 00000000 0005 03 32\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 33 /tmp/socket\n";
  EXPECT_THAT(parse_sockets("unix", text), ElementsAre("socket unix @mark"));
  EXPECT_THAT(parse_sockets("unix", text, "mark"), IsEmpty()) << "the relay's own";
  EXPECT_THAT(parse_sockets("unix", text, "ark"), ElementsAre("socket unix @mark"));
}

TEST(OpenSockets, ConnectionThatHasEnded_IsFoundWithBothEnds) {
  const char* v4 =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1266 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17 1 0 100 0 0 10 0\n"
      "   1: 0100007F:1269 0200007F:D2F2 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0\n"
      "   2: 0100007F:126Z 0200007F:D2F2 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0\n";
  const auto kept = parse_kept_connections(v4);
  ASSERT_EQ(kept.size(), 1u);
  const auto& local = reinterpret_cast<const sockaddr_in&>(kept[0].local);
  const auto& remote = reinterpret_cast<const sockaddr_in&>(kept[0].remote);
  EXPECT_EQ(ntohl(local.sin_addr.s_addr), 0x7F00'0001u);
  EXPECT_EQ(ntohs(local.sin_port), 0x1269);
  EXPECT_EQ(ntohl(remote.sin_addr.s_addr), 0x7F00'0002u);
  EXPECT_EQ(ntohs(remote.sin_port), 0xD2F2);
  const char* v6 =
      "  sl  local_address                         remote_address                        st\n"
      "   0: 00000000000000000000000001000000:1F40 00000000000000000000000001000000:C350 06 00000000:00000000\n";
  const auto kept6 = parse_kept_connections(v6);
  ASSERT_EQ(kept6.size(), 1u);
  const auto& local6 = reinterpret_cast<const sockaddr_in6&>(kept6[0].local);
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&local6.sin6_addr));
  EXPECT_EQ(ntohs(local6.sin6_port), 8000);
}

TEST(OpenSockets, HeaderAloneOrNothing_IsNone) {
  EXPECT_THAT(parse_sockets("udp", "  sl  local_address rem_address   st\n"), IsEmpty());
  EXPECT_THAT(parse_sockets("raw", ""), IsEmpty());
}

TEST(OpenSockets, ConnectionsEverOpened_AreCounted) {
  EXPECT_EQ(parse_connections("Ip: Forwarding DefaultTTL\nIp: 0 0\n"
                              "Tcp: RtoAlgorithm RtoMin MaxConn ActiveOpens PassiveOpens\nTcp: 1 200 -1 17 3\n"),
            17u);
  EXPECT_EQ(parse_connections(""), 0u);
  EXPECT_EQ(parse_connections("Tcp: RtoAlgorithm ActiveOpens\nTcp: 1\n"), 0u);
}

}  // namespace
}  // namespace cloche::agent
