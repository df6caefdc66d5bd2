#include "sandbox/spec.hpp"

#include <gtest/gtest.h>

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
