#include "server/session_workspace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "disk/store.hpp"

namespace cloche::server {
namespace {

class SessionWorkspace : public testing::Test {
 protected:
  SessionWorkspace() {
    std::string name = (std::filesystem::temp_directory_path() / "cloche-workspace.XXXXXX").string();
    engine_.state_dir = ::mkdtemp(name.data());
    profiles_.emplace_back().name = "python";
    profiles_.emplace_back().name = "session";
  }
  ~SessionWorkspace() override { std::filesystem::remove_all(engine_.state_dir); }

  SandboxSpec settle(SessionProfile origin) {
    settle_session_workspace(profiles_, sessions_, origin, engine_);
    EXPECT_EQ(profiles_.front().sandbox.workspace, WorkspaceKind::memory);
    return profiles_.back().sandbox;
  }

  EngineOptions engine_;
  config::SessionSettings sessions_;
  std::vector<Profile> profiles_;
};

TEST_F(SessionWorkspace, OfTheProfileThatClocheMakes_IsOnDiskWhereThatWorks) {
  disk::DiskStore disks(disk::with_directory(engine_.disk, engine_.state_dir));
  const bool works = disks.probe(CancelToken(Deadline::after(std::chrono::seconds(60)))).has_value();
  const SandboxSpec spec = settle(SessionProfile::made);
  EXPECT_EQ(spec.workspace, works ? WorkspaceKind::disk : WorkspaceKind::memory);
}

TEST_F(SessionWorkspace, OfAConfiguredProfile_StaysAsConfigured) {
  EXPECT_EQ(settle(SessionProfile::configured).workspace, WorkspaceKind::memory);
}

TEST_F(SessionWorkspace, ThatIsConfigured_HoldsForBoth) {
  sessions_.workspace = WorkspaceKind::disk;
  sessions_.disk_size = mib(64);
  const SandboxSpec spec = settle(SessionProfile::configured);
  EXPECT_EQ(spec.workspace, WorkspaceKind::disk);
  EXPECT_EQ(spec.disk_size, mib(64));
  sessions_.workspace = WorkspaceKind::memory;
  EXPECT_EQ(settle(SessionProfile::made).workspace, WorkspaceKind::memory);
}

TEST_F(SessionWorkspace, WithoutDisks_IsInMemory) {
  engine_.disk.dir = "/proc";
  EXPECT_EQ(settle(SessionProfile::made).workspace, WorkspaceKind::memory);
  engine_.disk.dir.clear();
  engine_.backend = BackendKind::docker;
  EXPECT_EQ(settle(SessionProfile::made).workspace, WorkspaceKind::memory);
}

TEST_F(SessionWorkspace, OfTheProfileThatClocheMakes_FitsIntoWhatTheOperatorAllows) {
  profiles_.back().pool.scale_limit = 2;
  engine_.disk.max_size = mib(300);
  engine_.disk.max_total = mib(800);
  const SandboxSpec one = settle(SessionProfile::made);
  EXPECT_TRUE(one.workspace == WorkspaceKind::memory || one.disk_size == mib(300));
  engine_.disk.max_total = mib(520);
  const SandboxSpec half = settle(SessionProfile::made);
  EXPECT_TRUE(half.workspace == WorkspaceKind::memory || half.disk_size == mib(260));
}

TEST_F(SessionWorkspace, ThatWouldBeTooSmallOnDisk_IsInMemory) {
  profiles_.back().pool.scale_limit = 50;
  engine_.disk.max_total = mib(2048);
  EXPECT_EQ(settle(SessionProfile::made).workspace, WorkspaceKind::memory);
}

}  // namespace
}  // namespace cloche::server
