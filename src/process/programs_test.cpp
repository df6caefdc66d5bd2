#include "process/programs.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "process/descriptors.hpp"

namespace cloche::process {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Programs, DirectoriesOfAPath_AreAbsoluteAndOnce) {
  EXPECT_THAT(directories_of("/a:/b"), ElementsAre("/a", "/b"));
  EXPECT_THAT(directories_of(":rel:.:/a::/a:/b:"), ElementsAre("/a", "/b"));
  EXPECT_THAT(directories_of(""), IsEmpty());
}

TEST(Programs, AreFoundInTheFirstDirectoryThatHasThem) {
  EXPECT_EQ(find_program("sh", {"/nonexistent", "/bin", "/usr/bin"}), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program"), std::nullopt);
  EXPECT_EQ(find_program("/bin/sh", {}), "/bin/sh");
  EXPECT_EQ(find_program("/etc/passwd", {}), std::nullopt) << "not executable";
  EXPECT_EQ(find_program("bin", {"/usr"}), std::nullopt) << "a directory";
}

TEST(Programs, OwnEnvironment_HasTheChanges) {
  ::setenv("CLOCHE_TEST_KEPT", "kept", 1);
  ::setenv("CLOCHE_TEST_CHANGED", "old", 1);
  const auto all = own_environment({{"CLOCHE_TEST_CHANGED", "new"}});
  EXPECT_THAT(all, Contains("CLOCHE_TEST_KEPT=kept"));
  EXPECT_THAT(all, Contains("CLOCHE_TEST_CHANGED=new"));
  EXPECT_THAT(all, testing::Not(Contains("CLOCHE_TEST_CHANGED=old")));
}

TEST(Descriptors, BoundedMemory_DoesNotGrow) {
  const UniqueFd memory = make_bounded_memory(Bytes{8}).value();
  EXPECT_EQ(::write(memory.get(), "12345678", 8), 8);
  EXPECT_EQ(::write(memory.get(), "9", 1), -1);
  EXPECT_EQ(read_bounded_memory(memory.get()), "12345678");
}

TEST(Descriptors, Input_IsReadFromItsBeginning) {
  const UniqueFd input = make_input("content").value();
  char text[16] = {};
  EXPECT_EQ(::read(input.get(), text, sizeof text), 7);
  EXPECT_STREQ(text, "content");
}

}  // namespace
}  // namespace cloche::process
