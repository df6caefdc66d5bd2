#include "sandbox/spec.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sandbox/exec_spec.hpp"

namespace cloche {
namespace {

TEST(CleanPath, PlainAbsolutePath_IsClean) {
  for (const char* path : {"/", "/a", "/a/b.c/d", "/.hidden"}) EXPECT_TRUE(is_clean_absolute_path(path)) << path;
}

TEST(CleanPath, TricksAndRelativePaths_AreNot) {
  using namespace std::string_view_literals;
  for (std::string_view path : {""sv, "a"sv, "/a/../b"sv, "/a/./b"sv, "/a//b"sv, "/a/"sv, "/.."sv, "/a\0b"sv}) {
    EXPECT_FALSE(is_clean_absolute_path(path)) << path;
  }
}

TEST(ExecSpecSizes, WhatTheKernelWouldRefuse_IsRefusedByName) {
  const auto refusal = [](auto change) -> std::string {
    ExecSpec spec;
    spec.argv = {"true"};
    change(spec);
    const auto request = to_request(spec, SandboxSpec{}, Limits{}, Kernel::shared);
    if (request) return "";
    EXPECT_EQ(request.error().code, ErrorCode::invalid_argument);
    return request.error().message;
  };
  EXPECT_EQ(refusal([](auto& s) { s.argv.emplace_back(131'071, 'x'); }), "");
  EXPECT_NE(refusal([](auto& s) { s.argv.emplace_back(131'072, 'x'); }).find("argument 1"), std::string::npos);
  EXPECT_EQ(refusal([](auto& s) { s.env["A"] = std::string(131'069, 'x'); }), "");
  EXPECT_NE(refusal([](auto& s) { s.env["A"] = std::string(131'070, 'x'); }).find("variable 'A'"), std::string::npos);
  EXPECT_NE(refusal([](auto& s) { s.argv.resize(20, std::string(110'000, 'x')); }).find("arguments and environment"),
            std::string::npos);
  EXPECT_EQ(refusal([](auto& s) { s.argv.resize(15, std::string(110'000, 'x')); }), "");
}

TEST(HomeOf, Disk_IsApartFromTheWorkDirectory) {
  SandboxSpec spec;
  EXPECT_EQ(home_of(spec), "/workspace");
  spec.workspace = WorkspaceKind::disk;
  EXPECT_EQ(home_of(spec), "/home/sandbox");
  for (const char* work_dir : {"/home", "/home/sandbox", "/home/sandbox/work"}) {
    spec.work_dir = work_dir;
    EXPECT_EQ(home_of(spec), work_dir);
  }
  spec.work_dir = "/home/sandbox2";
  EXPECT_EQ(home_of(spec), "/home/sandbox");
  spec.mounts = {{"/a", "/home", Access::read_only}};
  EXPECT_FALSE(validate(spec));
}

TEST(HomeOf, DiskOfANamedUser_HasItsName) {
  SandboxSpec spec;
  spec.workspace = WorkspaceKind::disk;
  spec.user = "user";
  EXPECT_EQ(home_of(spec), "/home/user");
}

TEST(ValidateSpec, UserNames_AreThoseOfTheSystem) {
  SandboxSpec spec;
  for (const char* good : {"user", "_apt", "a", "a-b_c9"}) {
    spec.user = good;
    EXPECT_TRUE(validate(spec)) << good;
  }
  for (const std::string& bad : {std::string(), std::string("root"), std::string("nobody"), std::string("User"),
                                 std::string("9a"), std::string("-a"), std::string("a:b"), std::string("a\nb"),
                                 std::string("a b"), std::string(33, 'a'), std::string("a\0", 2)}) {
    spec.user = bad;
    EXPECT_FALSE(validate(spec)) << bad;
  }
}

TEST(ValidateSpec, HomeOfRoot_IsReservedWhereThereIsRoot) {
  SandboxSpec spec;
  spec.work_dir = "/root/work";
  EXPECT_TRUE(validate(spec));
  spec.root = true;
  EXPECT_FALSE(validate(spec));
  spec.work_dir = "/workspace";
  spec.mounts = {{"/data", "/run/data"}};
  EXPECT_FALSE(validate(spec));
  spec.mounts = {{"/data", "/root/data"}};
  EXPECT_FALSE(validate(spec));
}

TEST(ToRequest, Root_IsForSandboxesThatHaveIt) {
  ExecSpec spec = ExecSpec::shell("id");
  spec.uid = 0;
  SandboxSpec sandbox;
  EXPECT_FALSE(to_request(spec, sandbox, sandbox.limits, Kernel::shared));
  sandbox.root = true;
  const auto request = to_request(spec, sandbox, sandbox.limits, Kernel::shared);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->uid, 0U);
  EXPECT_EQ(request->gid, 0U);
  EXPECT_NE(std::ranges::find(request->env, "HOME=/root"), request->env.end());
  EXPECT_NE(std::ranges::find(request->env, "USER=root"), request->env.end());
  spec.gid = 1000;
  EXPECT_FALSE(to_request(spec, sandbox, sandbox.limits, Kernel::shared));
  spec.gid = 0;
  spec.zygote = "python";
  EXPECT_FALSE(to_request(spec, sandbox, sandbox.limits, Kernel::shared));
  ExecSpec only_group = ExecSpec::shell("id");
  only_group.gid = 0;
  EXPECT_FALSE(to_request(only_group, sandbox, sandbox.limits, Kernel::shared));
}

TEST(ToRequest, NameOfTheUser_IsInTheEnvironment) {
  SandboxSpec sandbox;
  sandbox.user = "user";
  const auto request = to_request(ExecSpec::shell("id"), sandbox, sandbox.limits, Kernel::shared);
  ASSERT_TRUE(request);
  for (const char* entry : {"USER=user", "LOGNAME=user"})
    EXPECT_NE(std::ranges::find(request->env, entry), request->env.end()) << entry;
}

TEST(ValidateSpec, Defaults_AreValid) { EXPECT_TRUE(validate(SandboxSpec{})); }

TEST(ValidateSpec, Nonsense_IsRefusedByName) {
  const auto refused = [](auto change, const char* word) {
    SandboxSpec spec;
    change(spec);
    const auto valid = validate(spec);
    ASSERT_FALSE(valid) << word;
    EXPECT_EQ(valid.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(valid.error().message.find(word), std::string::npos) << valid.error().message;
  };
  refused([](auto& s) { s.work_dir = "workspace"; }, "work_dir");
  refused([](auto& s) { s.work_dir = "/proc/x"; }, "reserved");
  refused([](auto& s) { s.work_dir = "/"; }, "reserved");
  refused([](auto& s) { s.uid = 0; }, "root");
  refused([](auto& s) { s.limits.memory = {0}; }, "memory");
  refused([](auto& s) { s.limits.cpus = -1; }, "cpus");
  refused([](auto& s) { s.limits.pids = 0; }, "pids");
  refused([](auto& s) { s.limits.memory = {UINT64_MAX}; }, "memory");
  refused([](auto& s) { s.name = "a b"; }, "name");
  refused([](auto& s) { s.hostname = "x\ny"; }, "host name");
  refused([](auto& s) { s.mounts = {{"/data", "/.cloche/x"}}; }, "reserved");
  refused([](auto& s) { s.mounts = {{"data", "/data"}}; }, "source");
  refused([](auto& s) { s.mounts = {{"/data", "/workspace"}}; }, "hide");
  refused([](auto& s) { s.ready_timeout = {}; }, "ready_timeout");
}

}  // namespace
}  // namespace cloche
