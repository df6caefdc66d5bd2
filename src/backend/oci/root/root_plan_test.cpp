#include "backend/oci/root/root_plan.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/files.hpp"
#include "backend/oci/root/host_root.hpp"
#include "backend/oci/root/root_layout.hpp"
#include "backend/oci/root/root_skeleton.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Links = RootPlanner::Links;

std::vector<std::string> bound(const RootPlan& plan) {
  std::vector<std::string> targets;
  for (const RootBind& bind : plan.binds) targets.push_back(bind.target);
  return targets;
}

const RootEntry* entry_at(const RootPlan& plan, const std::string& path) {
  for (const RootEntry& entry : plan.entries) {
    if (entry.path == path) return &entry;
  }
  return nullptr;
}

class RootPlanTest : public ::testing::Test {
 protected:
  RootPlanTest() {
    for (const char* name : {"usr/bin", "home/user/a", "home/user/b", "home/other", "empty"}) {
      EXPECT_TRUE(make_directories(image_ + "/" + name, 0755));
    }
    for (const char* name :
         {"usr/bin/tool", "home/user/a/x", "home/user/b/x", "home/user/note", "home/other/x", "top"}) {
      EXPECT_TRUE(write_file(image_ + "/" + name, name, 0644));
    }
    EXPECT_EQ(::symlink("usr/bin", (image_ + "/bin").c_str()), 0);
    EXPECT_EQ(::mkfifo((image_ + "/pipe").c_str(), 0600), 0);
  }

  ScratchDirectory scratch_;
  std::string image_ = scratch_ / "image";
};

TEST_F(RootPlanTest, TopLevel_IsBoundLinkedOrLeftOut) {
  const RootPlan plan = plan_image_root(image_)->plan().value();
  EXPECT_THAT(bound(plan), ElementsAre("/home", "/top", "/usr"));
  ASSERT_NE(entry_at(plan, "/bin"), nullptr);
  EXPECT_EQ(entry_at(plan, "/bin")->kind, RootEntry::Kind::link);
  EXPECT_EQ(entry_at(plan, "/bin")->content, "usr/bin");
  EXPECT_EQ(entry_at(plan, "/pipe"), nullptr);
  // An empty directory needs no mount.
  ASSERT_NE(entry_at(plan, "/empty"), nullptr);
}

TEST_F(RootPlanTest, MountPointDeepInside_BreaksUpOnlyItsAncestors) {
  auto root = plan_image_root(image_).value();
  ASSERT_TRUE(root.add_mount_point("/home/user/app", PathKind::directory, 0755, Links::refuse));
  const RootPlan plan = root.plan().value();
  EXPECT_THAT(bound(plan),
              ElementsAre("/home/other", "/home/user/a", "/home/user/b", "/home/user/note", "/top", "/usr"));
  EXPECT_NE(entry_at(plan, "/home/user/app"), nullptr);
}

TEST_F(RootPlanTest, MountPointThatExists_IsNotBoundAgain) {
  auto root = plan_image_root(image_).value();
  ASSERT_TRUE(root.add_mount_point("/home/user", PathKind::directory, 0755, Links::refuse));
  ASSERT_TRUE(root.add_mount_point("/home", PathKind::directory, 0755, Links::refuse));
  const RootPlan plan = root.plan().value();
  EXPECT_THAT(bound(plan), ElementsAre("/top", "/usr"));
  EXPECT_EQ(entry_at(plan, "/home/user"), nullptr);
}

TEST_F(RootPlanTest, LinkOnTheWay_IsRefusedOrReplaced) {
  auto root = plan_image_root(image_).value();
  const Status refused = root.add_mount_point("/bin/x", PathKind::directory, 0755, Links::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/bin, a symbolic link to 'usr/bin'"));
  EXPECT_FALSE(root.add_mount_point("/bin", PathKind::directory, 0755, Links::refuse));
  EXPECT_TRUE(root.add_mount_point("/bin", PathKind::directory, 0755, Links::replace));
  EXPECT_EQ(entry_at(root.plan().value(), "/bin")->kind, RootEntry::Kind::directory);
}

TEST_F(RootPlanTest, FileOnTheWayOrInPlace_IsRefused) {
  auto root = plan_image_root(image_).value();
  EXPECT_EQ(root.add_mount_point("/top/x", PathKind::directory, 0755, Links::refuse).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(root.add_mount_point("/top", PathKind::directory, 0755, Links::refuse).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(root.add_mount_point("/usr", PathKind::file, 0755, Links::refuse).error().code,
            ErrorCode::invalid_argument);
  EXPECT_TRUE(root.add_mount_point("/top", PathKind::file, 0644, Links::refuse));
}

TEST_F(RootPlanTest, TooManyNeighbours_AreRefused) {
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(write_file(image_ + "/usr/bin/" + std::to_string(i), "", 0644));
  auto root = plan_image_root(image_).value();
  ASSERT_TRUE(root.add_mount_point("/usr/bin/work", PathKind::directory, 0755, Links::refuse));
  const auto plan = root.plan();
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("/workspace"));
}

TEST_F(RootPlanTest, OwnPlaces_AreThereWhateverTheImageHas) {
  ASSERT_TRUE(write_file(scratch_ / "agent", "agent", 0755));
  ASSERT_EQ(::symlink("usr", (image_ + "/tmp").c_str()), 0);
  SandboxSpec spec;
  const RootPlan plan = plan_root(spec, image_, scratch_ / "agent", {}).value();
  for (const char* path : {"/proc", "/dev", "/sys", "/run", "/tmp", "/workspace", "/.cloche"}) {
    ASSERT_NE(entry_at(plan, path), nullptr) << path;
    EXPECT_EQ(entry_at(plan, path)->kind, RootEntry::Kind::directory) << path;
  }
  EXPECT_EQ(entry_at(plan, "/.cloche/agent")->kind, RootEntry::Kind::hard_link);
  EXPECT_EQ(entry_at(plan, "/var/tmp")->content, "/tmp");
  EXPECT_EQ(entry_at(plan, "/tmp")->mode, 01777u);
}

TEST_F(RootPlanTest, Python3Alone_IsCalledPythonToo) {
  ASSERT_TRUE(write_file(scratch_ / "agent", "agent", 0755));
  SandboxSpec spec;
  const auto link = [&] {
    const RootPlan plan = plan_root(spec, image_, scratch_ / "agent", {}).value();
    const RootEntry* entry = entry_at(plan, "/.cloche/bin/python");
    return entry == nullptr ? std::string() : entry->content;
  };
  EXPECT_EQ(link(), "");
  ASSERT_EQ(::symlink("python3.11", (image_ + "/usr/bin/python3").c_str()), 0);
  EXPECT_EQ(link(), "/usr/bin/python3");
  // A directory that is an absolute link is resolved inside the image.
  ASSERT_TRUE(make_directories(image_ + "/opt/bin", 0755));
  ASSERT_TRUE(make_directories(image_ + "/usr/local", 0755));
  ASSERT_EQ(::symlink("/opt/bin", (image_ + "/usr/local/bin").c_str()), 0);
  ASSERT_TRUE(write_file(image_ + "/opt/bin/python3", "", 0755));
  EXPECT_EQ(link(), "/usr/local/bin/python3");
  // One of its own is not hidden, wherever it is.
  ASSERT_TRUE(write_file(image_ + "/usr/bin/python", "", 0755));
  EXPECT_EQ(link(), "");
}

TEST_F(RootPlanTest, HostRoot_HasALittleOfEtc) {
  const std::string host = scratch_ / "host";
  for (const char* name : {"usr/bin", "etc/alternatives", "etc/ssl/certs", "etc/ssl/private", "etc/python3.11",
                           "etc/secret.d", "home/x", "lib"}) {
    ASSERT_TRUE(make_directories(host + "/" + name, 0755));
    ASSERT_TRUE(write_file(host + "/" + name + "/f", "x", 0644));
  }
  ASSERT_TRUE(write_file(host + "/etc/shadow", "secret", 0600));
  ASSERT_TRUE(write_file(host + "/etc/passwd", "alice:x:1:1::/:/bin/sh\n", 0644));
  ASSERT_TRUE(write_file(host + "/etc/ld.so.cache", "cache", 0644));
  ASSERT_TRUE(write_file(host + "/etc/ssl/openssl.cnf", "PIN = 1234", 0644));
  ASSERT_EQ(::symlink("usr/bin", (host + "/bin").c_str()), 0);
  const RootPlan plan = plan_host_root({{"sandbox", 1234, 4321, "/work"}, "box"}, host)->plan().value();
  EXPECT_THAT(bound(plan), ElementsAre("/etc/alternatives", "/etc/ssl/certs", "/lib", "/usr"));
  EXPECT_EQ(entry_at(plan, "/bin")->kind, RootEntry::Kind::link);
  EXPECT_THAT(entry_at(plan, "/etc/passwd")->content, HasSubstr("sandbox:x:1234:4321:sandbox:/work:/bin/sh\n"));
  EXPECT_THAT(entry_at(plan, "/etc/passwd")->content, Not(HasSubstr("alice")));
  EXPECT_THAT(entry_at(plan, "/etc/hosts")->content, HasSubstr("box"));
  EXPECT_THAT(entry_at(plan, "/etc/ssl/openssl.cnf")->content, HasSubstr("[req]")) << "one of its own";
  EXPECT_THAT(entry_at(plan, "/etc/ssl/openssl.cnf")->content, Not(HasSubstr("PIN")));
  EXPECT_EQ(entry_at(plan, "/etc/ld.so.cache")->kind, RootEntry::Kind::copy);
  EXPECT_EQ(entry_at(plan, "/etc/python3.11")->kind, RootEntry::Kind::copy);
  for (const char* path : {"/etc/shadow", "/etc/secret.d", "/home", "/etc/ssl/private"})
    EXPECT_EQ(entry_at(plan, path), nullptr) << path;
}

TEST_F(RootPlanTest, HomeWithAColon_DoesNotForgeALineOfPasswd) {
  const RootPlan plan =
      plan_host_root({{"sandbox", 1000, 1000, "/x:/bin/sh\nroot2:x:0:0"}, "box"}, scratch_ / "nohost")->plan().value();
  EXPECT_THAT(entry_at(plan, "/etc/passwd")->content, HasSubstr("sandbox:x:1000:1000:sandbox:/:/bin/sh\n"));
  EXPECT_THAT(entry_at(plan, "/etc/passwd")->content, Not(HasSubstr("root2")));
}

TEST_F(RootPlanTest, Skeleton_IsMadeOnceAndSharedByTheSamePlan) {
  const std::string store = scratch_ / "roots";
  auto root = plan_image_root(image_).value();
  ASSERT_TRUE(root.add_mount_point("/tmp", PathKind::directory, 01777, Links::replace));
  ASSERT_TRUE(write_file(scratch_ / "agent", "agent", 0755));
  ASSERT_TRUE(root.add_hard_link("/.cloche/agent", scratch_ / "agent"));
  ASSERT_TRUE(root.add_copy("/etc/copied", image_ + "/home"));
  const RootPlan plan = root.plan().value();
  const std::string skeleton = ensure_skeleton(store, plan).value();
  EXPECT_EQ(ensure_skeleton(store, plan).value(), skeleton);
  EXPECT_EQ(list_directory(store).value().size(), 1u);
  EXPECT_EQ(list_directory(skeleton).value(),
            (std::vector<std::string>{".cloche", "bin", "empty", "etc", "home", "tmp", "top", "usr"}));
  EXPECT_THAT(list_directory(skeleton + "/usr").value(), IsEmpty());
  EXPECT_EQ(read_file(skeleton + "/etc/copied/user/note").value(), "home/user/note");
  struct stat about;
  ASSERT_EQ(::stat((skeleton + "/tmp").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777u, 01777u);
}

TEST_F(RootPlanTest, CopiedSourceThatChanges_IsAnotherSkeleton) {
  const auto make = [&] {
    RootPlanner root;
    EXPECT_TRUE(root.add_copy("/etc/x", image_ + "/home"));
    return ensure_skeleton(scratch_ / "roots", root.plan().value()).value();
  };
  const std::string before = make();
  EXPECT_EQ(make(), before);
  ASSERT_TRUE(write_file(image_ + "/home/user/new", "new", 0644));
  EXPECT_NE(make(), before);
}

TEST_F(RootPlanTest, CopiedTree_LeavesOutWhatIsNotForAll) {
  ASSERT_TRUE(write_file(image_ + "/home/user/secret", "secret", 0600));
  ASSERT_TRUE(make_directory(image_ + "/home/closed", 0700));
  RootPlanner root;
  ASSERT_TRUE(root.add_copy("/etc/x", image_ + "/home"));
  const std::string skeleton = ensure_skeleton(scratch_ / "roots", root.plan().value()).value();
  EXPECT_FALSE(path_exists(skeleton + "/etc/x/user/secret"));
  EXPECT_FALSE(path_exists(skeleton + "/etc/x/closed"));
  EXPECT_TRUE(path_exists(skeleton + "/etc/x/user/note"));
}

TEST_F(RootPlanTest, Mounts_AreOrderedAndChecked) {
  const std::string home = image_ + "/home";
  const auto sorted =
      look_at_mounts({{home + "/user", "/data/other", Access::read_only}, {home, "/data", Access::read_only}});
  ASSERT_TRUE(sorted) << sorted.error().message;
  EXPECT_EQ((*sorted)[0].mount.target, "/data");
  EXPECT_FALSE(look_at_mounts({{home, "/data", Access::read_only}, {home, "/data/absent", Access::read_only}}));
  EXPECT_FALSE(look_at_mounts({{home, "/data", Access::read_only}, {home, "/data", Access::read_only}}));
  EXPECT_EQ(look_at_mounts({{image_ + "/pipe", "/p", Access::read_only}}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(look_at_mounts({{image_ + "/no", "/p", Access::read_only}}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace cloche::oci
