#include "backend/oci/root/uid_ranges.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "backend/oci/files.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

TEST(UidRange, FirstAndLast_AreWithinTheirPlace) {
  EXPECT_EQ(UidRange{0}.first(), 0x7000'0000u);
  EXPECT_EQ(UidRange{4095}.first() + UidRange::size, 0x8000'0000u);
}

TEST(UidRanges, ClaimAndRelease_LeaveNothing) {
  const ScratchDirectory scratch;
  const UidRanges ranges(scratch / "uids", "a");
  const auto one = ranges.claim("s1").value();
  const auto two = ranges.claim("s2").value();
  EXPECT_NE(one, two);
  EXPECT_EQ(ranges.taken().value(), 2u);
  EXPECT_EQ(ranges.claims().value().size(), 2u);
  EXPECT_TRUE(ranges.release(one, "s1"));
  EXPECT_TRUE(ranges.release(one, "s1"));  // again is fine
  EXPECT_TRUE(ranges.release(two, "s2"));
  EXPECT_TRUE(list_directory(scratch / "uids").value().empty());
}

TEST(UidRanges, AllClaims_SayWhoseTheyAre) {
  const ScratchDirectory scratch;
  const UidRanges ours(scratch / "uids", "a");
  const UidRanges theirs(scratch / "uids", "b");
  ASSERT_TRUE(ours.claim("s1") && theirs.claim("s2"));
  std::set<std::string> found;
  const auto all = ours.all_claims().value();
  for (const auto& each : all) found.insert(each.owner + ":" + each.claim.sandbox);
  EXPECT_EQ(found, (std::set<std::string>{"a:s1", "b:s2"}));
  EXPECT_EQ(ours.claims().value().size(), 1u);
}

TEST(UidRanges, AnothersRange_IsNotReleased) {
  const ScratchDirectory scratch;
  const UidRanges ours(scratch / "uids", "a");
  const UidRanges theirs(scratch / "uids", "ab");
  const auto range = theirs.claim("s1").value();
  EXPECT_TRUE(ours.release(range, "s1"));
  EXPECT_TRUE(theirs.release(range, "s2"));
  EXPECT_EQ(theirs.claims().value().size(), 1u);
  EXPECT_TRUE(ours.claims().value().empty());
}

TEST(UidRanges, DraftOfACrash_IsCleanedUp) {
  const ScratchDirectory scratch;
  const UidRanges ranges(scratch / "uids", "a");
  ASSERT_TRUE(ranges.release(ranges.claim("s1").value(), "s1"));
  ASSERT_TRUE(write_file(scratch / "uids/.claim-0123", "a s9\n", 0600));
  ASSERT_TRUE(write_file(scratch / "uids/.claim-4567", "b s9\n", 0600));
  EXPECT_TRUE(ranges.claims().value().empty());
  EXPECT_EQ(list_directory(scratch / "uids").value(), std::vector<std::string>{".claim-4567"});
}

TEST(UidRanges, AllTaken_IsSaid) {
  const ScratchDirectory scratch;
  const UidRanges ranges(scratch / "uids", "a");
  ASSERT_TRUE(make_directory(scratch / "uids", 0700));
  for (std::uint32_t slot = 0; slot < UidRange::slots; ++slot) {
    if (slot == 1234) continue;
    ASSERT_TRUE(write_file(scratch / "uids/" + std::to_string(slot), "b x\n", 0600));
  }
  EXPECT_EQ(ranges.claim("last").value().slot, 1234u);
  EXPECT_EQ(ranges.claim("none").error().code, ErrorCode::limit_reached);
}

TEST(UidRanges, ManyProcessesAtOnce_NeverGetTheSame) {
  const ScratchDirectory scratch;
  constexpr int processes = 6;
  constexpr int each = 60;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const UidRanges ranges(scratch / "uids", "p" + std::to_string(i));
      bool good = true;
      for (int n = 0; n < each; ++n) good = ranges.claim("s" + std::to_string(n)).has_value() && good;
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::set<std::uint32_t> slots;
  for (int i = 0; i < processes; ++i) {
    const auto claims = UidRanges(scratch / "uids", "p" + std::to_string(i)).claims().value();
    EXPECT_EQ(claims.size(), static_cast<std::size_t>(each));
    for (const auto& claim : claims) EXPECT_TRUE(slots.insert(claim.range.slot).second);
  }
}

}  // namespace
}  // namespace cloche::oci
