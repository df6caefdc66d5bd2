#include "wire/codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "wire/channel_messages.hpp"
#include "wire/exec_messages.hpp"
#include "wire/file_messages.hpp"

namespace cloche::wire {
namespace {

TEST(Codec, ExecRequest_ComesBackAsItWas) {
  ExecRequest request;
  request.argv = {"python3", "", std::string("a\0b", 3)};
  request.env = {"A=1"};
  request.uid = 1000;
  request.pty = WindowSize{50, 132};
  request.wall_ms = UINT64_MAX;
  request.rlimits = {{1, 2, UINT64_MAX}};
  request.umask = 0;
  const auto back = decode<ExecRequest>(encode(request)).value();
  EXPECT_EQ(back.argv, request.argv);
  EXPECT_EQ(back.pty->columns, 132u);
  EXPECT_EQ(back.wall_ms, UINT64_MAX);
  EXPECT_EQ(back.rlimits.at(0).hard, UINT64_MAX);
  EXPECT_EQ(back.umask, 0u) << "a value that differs from the default must survive even when it is zero";
  EXPECT_FALSE(back.background);
}

TEST(Codec, FalseOverATrueDefault_Survives) {
  FileRequest request;
  request.follow = false;
  EXPECT_FALSE(decode<FileRequest>(encode(request)).value().follow);
}

TEST(Codec, NegativeNumbers_Survive) {
  FileReply reply;
  reply.entries = {{.path = "p", .mtime_ns = -5}};
  EXPECT_EQ(decode<FileReply>(encode(reply)).value().entries.at(0).mtime_ns, -5);
}

TEST(Codec, Maps_Survive) {
  FileRequest request;
  request.attributes = {{"user.a", std::string("\0\xff", 2)}, {"user.b", ""}, {"", "x"}};
  EXPECT_EQ(decode<FileRequest>(encode(request)).value().attributes, request.attributes);
}

TEST(Codec, KeyOfAMapTwice_IsTheLastOne) {
  FileRequest first;
  first.attributes = {{"user.a", "1"}};
  FileRequest second;
  second.attributes = {{"user.a", "2"}};
  std::string bytes = encode(first);
  std::string more = encode(second);
  std::string_view rest = more;
  std::uint64_t kind = 0;
  ASSERT_TRUE(take_varint(rest, kind));
  bytes += rest;
  const auto both = decode<FileRequest>(bytes).value().attributes;
  EXPECT_EQ(both.size(), 1U);
  EXPECT_EQ(both.at("user.a"), "2");
}

TEST(Codec, UnknownField_IsSkipped) {
  std::string bytes = encode(Credit{7});
  put_varint(bytes, 999);
  put_varint(bytes, 3);
  bytes += "xyz";
  EXPECT_EQ(decode<Credit>(bytes).value().bytes, 7u);
}

TEST(Codec, MessageOfAnotherKind_IsRefused) { EXPECT_FALSE(decode<ExecStarted>(encode(Credit{7}))); }

TEST(Codec, UnknownEnumValue_IsRefused) {
  std::string bytes;
  put_varint(bytes, static_cast<std::uint64_t>(ChannelKind::closed));
  put_varint(bytes, 1);
  put_varint(bytes, 1);
  bytes += '\x7f';
  EXPECT_FALSE(decode<Closed>(bytes));
}

TEST(Codec, TooManyElements_AreRefused) {
  std::string bytes;
  put_varint(bytes, static_cast<std::uint64_t>(MessageKind::file_reply));
  for (std::size_t i = 0; i <= max_elements; ++i) bytes.append("\x02\x00", 2);
  EXPECT_FALSE(decode<FileReply>(bytes));
}

TEST(Codec, TruncatedAnywhere_NeverCrashes) {
  ExecEnded ended;
  ended.failed_step = "execute";
  ended.oom_kills = 3;
  const std::string bytes = encode(ended);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) (void)decode<ExecEnded>(std::string_view(bytes).substr(0, cut));
}

TEST(Codec, EventLaneOfAnExec_ComesBackOnlyWhereItWasAskedFor) {
  ExecRequest request;
  EXPECT_FALSE(decode<ExecRequest>(encode(request)).value().events);
  request.events = EventLane{};
  EXPECT_TRUE(decode<ExecRequest>(encode(request)).value().events);
  request.events->stop_bytes = 77;
  EXPECT_EQ(decode<ExecRequest>(encode(request)).value().events->stop_bytes, 77u);
}

TEST(Codec, RandomBytes_NeverCrash) {
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() % 30 : random());
    (void)decode<ExecRequest>(bytes);
    (void)decode<FileReply>(bytes);
  }
}

TEST(Varint, MoreThan64Bits_IsRefused) {
  std::string_view bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
  std::uint64_t value = 0;
  EXPECT_FALSE(take_varint(bytes, value));
}

}  // namespace
}  // namespace cloche::wire
