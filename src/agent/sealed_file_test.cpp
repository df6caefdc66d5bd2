#include "agent/sealed_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace cloche::agent {
namespace {

TEST(SealedFile, Content_IsReadFromItsStart) {
  const auto file = sealed_file("test", "some bytes", SealedUse::data);
  ASSERT_TRUE(file) << file.error().message;
  char buffer[32];
  const ssize_t n = ::read(file->get(), buffer, sizeof buffer);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0))), "some bytes");
}

TEST(SealedFile, Modes_AreTheLeast) {
  struct stat about{};
  const auto data = sealed_file("test", "x", SealedUse::data);
  ASSERT_TRUE(data && ::fstat(data->get(), &about) == 0);
  EXPECT_EQ(about.st_mode & 07777, 0400U);
  EXPECT_NE(::fcntl(data->get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto program = sealed_file("test", "x", SealedUse::program);
  ASSERT_TRUE(program && ::fstat(program->get(), &about) == 0);
  EXPECT_EQ(about.st_mode & 07777, 0500U);
  EXPECT_EQ(::fcntl(program->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SealedFile, Changes_AreRefused) {
  const auto file = sealed_file("test", "content", SealedUse::program);
  ASSERT_TRUE(file);
  EXPECT_LT(::pwrite(file->get(), "X", 1, 0), 0);
  EXPECT_LT(::ftruncate(file->get(), 3), 0);
  EXPECT_LT(::ftruncate(file->get(), 30), 0);
  EXPECT_LT(::fcntl(file->get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  EXPECT_EQ(::mmap(nullptr, 7, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0), MAP_FAILED);
  // Root may open it again for writing; that does not help.
  const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(file->get())).c_str(), O_RDWR | O_CLOEXEC));
  if (again) {
    EXPECT_LT(::pwrite(again.get(), "X", 1, 0), 0);
  }
}

TEST(SealedFile, FileWithoutAllSeals_IsNotSealed) {
  const UniqueFd open_to_all(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_FALSE(is_sealed(open_to_all.get()));
  ASSERT_EQ(::fcntl(open_to_all.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
  EXPECT_FALSE(is_sealed(open_to_all.get()));
  ASSERT_EQ(::fcntl(open_to_all.get(), F_ADD_SEALS, F_SEAL_SEAL), 0);
  EXPECT_TRUE(is_sealed(open_to_all.get()));
}

}  // namespace
}  // namespace cloche::agent
