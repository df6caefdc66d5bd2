#include "core/lock_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <optional>

namespace cloche {
namespace {

using namespace std::chrono_literals;

struct LockFile : ::testing::Test {
  LockFile() {
    std::string name = ::testing::TempDir() + "lock_file_XXXXXX";
    directory = ::mkdtemp(name.data());
    path = directory + "/lock";
  }
  ~LockFile() override { std::filesystem::remove_all(directory); }

  std::string directory;
  std::string path;
  CancelToken token{Deadline::after(60s)};
};

TEST_F(LockFile, HeldByAnother_WaitsUntilItIsReleased) {
  auto first = lock_file(path, "wait", token);
  ASSERT_TRUE(first) << first.error().message;
  auto second = std::async(std::launch::async, [this] { return lock_file(path, "wait", token).has_value(); });
  EXPECT_EQ(second.wait_for(0s), std::future_status::timeout);
  first->reset();
  EXPECT_TRUE(second.get());
}

TEST_F(LockFile, CancelledWait_NamesTheStep) {
  const auto first = lock_file(path, "wait", token);
  ASSERT_TRUE(first) << first.error().message;
  token.cancel();
  const auto second = lock_file(path, "wait for the other", token);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::cancelled);
  EXPECT_EQ(second.error().message, "wait for the other: cancelled");
}

TEST_F(LockFile, SymbolicLink_IsRefused) {
  std::filesystem::create_symlink("elsewhere", path);
  EXPECT_FALSE(lock_file(path, "wait", token));
  EXPECT_FALSE(std::filesystem::exists(directory + "/elsewhere"));
}

}  // namespace
}  // namespace cloche
