#include "agent/files/testing/file_tester.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using wire::FileOp;
using SpaceTest = BothWays;

TEST_P(SpaceTest, FileSystemOfAPath_HasASizeAndWhatIsUsed) {
  make("disk");
  const SmallDisk disk(at("disk"), "size=8m");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("root", "file systems cannot be mounted");
  const Answer before = run(beneath(FileOp::space, "disk"));
  ASSERT_THAT(before.status, Succeeds());
  EXPECT_EQ(before.last().total_size, std::uint64_t{8} << 20);
  put("disk/f", std::string(1 << 20, 'x'));
  const Answer after = run(beneath(FileOp::space, "disk/f"));
  ASSERT_THAT(after.status, Succeeds());
  EXPECT_EQ(after.last().bytes, before.last().bytes + (1 << 20));
  EXPECT_THAT(run(beneath(FileOp::space, "missing")).status, FailsWith(ErrorCode::not_found));
}

CLOCHE_BOTH_WAYS(SpaceTest);

}  // namespace
}  // namespace cloche::agent::testing
