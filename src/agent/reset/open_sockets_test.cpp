#include "agent/reset/open_sockets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
