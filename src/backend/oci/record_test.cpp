#include "backend/oci/record.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

SandboxRecord example() {
  SandboxRecord record;
  record.state = SandboxRecord::State::running;
  record.id.value = "s-1";
  record.spec.image = "/images/x";
  record.spec.work_dir = "/w";
  record.spec.uid = 7;
  record.spec.user = "someone";
  record.spec.root = true;
  record.spec.workspace = WorkspaceKind::disk;
  record.spec.disk_size = mib(77);
  record.spec.limits.memory = mib(99);
  record.spec.limits.cpus = 0.25;
  record.spec.mounts = {{"/a", "/b", Access::read_write}};
  record.spec.labels = {{"key", "value \"quoted\"\n"}};
  record.spec.ready_timeout = std::chrono::milliseconds(1234);
  record.runtime = "crun";
  record.uid_slot = 17;
  record.spec.gpus = {.all = false, .count = 2, .ids = {"GPU-1"}};
  record.volumes = {{"acme", "data", "/volumes/data", Access::read_write}, {"ops", "cache", "/workspace/c"}};
  record.gpus = {{"0"}, {{"/dev/nvidia0", "/dev/nvidia0", 195, 0}}, {{"A", "b"}}};
  record.first = {4711, 123456789};
  record.keeper = {1, 2};
  record.boot = "boot";
  return record;
}

TEST(Record, WrittenAndRead_IsTheSame) {
  const ScratchDirectory scratch;
  const SandboxRecord before = example();
  ASSERT_TRUE(write_record(scratch / "r.json", before));
  const SandboxRecord after = read_record(scratch / "r.json").value();
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(after.uid_slot, 17u);
  EXPECT_EQ(after.volumes, before.volumes);
  EXPECT_EQ(after.spec.gpus, before.spec.gpus);
  EXPECT_EQ(after.gpus.nodes, before.gpus.nodes);
  EXPECT_EQ(after.gpus.env, before.gpus.env);
  EXPECT_EQ(after.first, before.first);
  EXPECT_EQ(after.spec.user, "someone");
  EXPECT_TRUE(after.spec.root);
  EXPECT_EQ(after.spec.limits.cpus, 0.25);
  EXPECT_EQ(after.spec.labels, before.spec.labels);
  EXPECT_EQ(after.spec.mounts.at(0).access, Access::read_write);
  EXPECT_EQ(after.spec.workspace, WorkspaceKind::disk);
  EXPECT_EQ(after.spec.disk_size, mib(77));
}

TEST(Record, WithoutUids_HasNone) {
  SandboxRecord record = example();
  record.uid_slot.reset();
  EXPECT_FALSE(parse_record(to_json(record)).value().uid_slot);
}

TEST(Record, Nonsense_IsNoRecord) {
  for (const char* text : {"", "{", "[]", "{}", R"({"version":2})", R"({"version":1,"state":"dreaming"})"}) {
    const auto parsed = parse_record(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::protocol);
  }
  const std::string whole = to_json(example());
  for (std::size_t length = 0; length < whole.size(); length += 7) EXPECT_FALSE(parse_record(whole.substr(0, length)));
}

TEST(ProcessIdentity, NameFullOfParentheses_DoesNotHideTheStartTime) {
  const char* stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 987654 1 2 3\n";
  EXPECT_EQ(parse_start_time(stat), 987654u);
  EXPECT_FALSE(parse_start_time("42 (x) Z 1 42 42 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 987654 1 2 3\n"));
  EXPECT_FALSE(parse_start_time(""));
  EXPECT_FALSE(parse_start_time("42 (x) S 1"));
}

TEST(ProcessIdentity, ProcessThatEnded_IsNotAlive) {
  EXPECT_TRUE(is_alive(identify_self()));
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  const auto identity = identify(child);
  ASSERT_TRUE(identity);
  EXPECT_FALSE(is_alive({child, identity->start_time + 1}));
  kill_process({child, identity->start_time + 1});  // another process: left alone
  EXPECT_TRUE(is_alive(*identity));
  kill_process(*identity);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(*identity));
}

}  // namespace
}  // namespace cloche::oci
