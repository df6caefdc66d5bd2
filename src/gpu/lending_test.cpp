#include "gpu/lending.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "gpu/testing/tree.hpp"

namespace cloche::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Inventory gpus(int count) {
  Inventory inventory;
  for (int i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.kind = "test.cloche/gpu";
    gpu.name = std::to_string(i);
    gpu.other_names = {"GPU-" + std::to_string(i)};
    gpu.nodes = {{"/dev/x", "/dev/x", 195, static_cast<std::uint32_t>(i)}};
    inventory.gpus.push_back(std::move(gpu));
  }
  return inventory;
}

GpuRequest some(std::uint32_t count) { return {.all = false, .count = count, .ids = {}}; }
GpuRequest these(std::vector<std::string> ids) { return {.all = false, .count = 0, .ids = std::move(ids)}; }
const GpuRequest all_of_them = {.all = true, .count = 0, .ids = {}};

std::vector<std::string> names(const Result<std::vector<Gpu>>& lent) {
  std::vector<std::string> list;
  if (!lent) return {lent.error().message};
  for (const Gpu& gpu : *lent) list.push_back(gpu.name);
  return list;
}

TEST(Lending, Count_TakesFreeOnes) {
  const TestingTree tree;
  const Lending lending(tree / "gpus", "a");
  const Inventory four = gpus(4);
  EXPECT_THAT(names(lending.lend(four, some(1), "s1")), ElementsAre("0"));
  EXPECT_THAT(names(lending.lend(four, some(2), "s2")), ElementsAre("1", "2"));
  const auto none = lending.lend(four, some(2), "s3");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::limit_reached);
  EXPECT_THAT(names(lending.lend(four, some(1), "s4")), ElementsAre("3")) << "what could not be lent is free again";
  ASSERT_TRUE(lending.take_back("s2"));
  EXPECT_THAT(names(lending.lend(four, some(2), "s5")), ElementsAre("1", "2"));
}

TEST(Lending, IdsAndAll_AreTakenTogetherOrNotAtAll) {
  const TestingTree tree;
  const Lending lending(tree / "gpus", "a");
  const Lending another(tree / "gpus", "b");
  const Inventory three = gpus(3);
  EXPECT_THAT(names(lending.lend(three, these({"GPU-1", "1"}), "s1")), ElementsAre("1"));
  EXPECT_EQ(another.lend(three, all_of_them, "s2").error().code, ErrorCode::limit_reached);
  EXPECT_EQ(another.lend(three, these({"0", "1"}), "s3").error().code, ErrorCode::limit_reached);
  EXPECT_THAT(another.borrowers().value(), IsEmpty());
  ASSERT_TRUE(another.take_back("s1")) << "of another instance";
  EXPECT_THAT(lending.borrowers().value(), ElementsAre("s1"));
  ASSERT_TRUE(lending.take_back("s1"));
  EXPECT_THAT(names(another.lend(three, all_of_them, "s4")), ElementsAre("0", "1", "2"));
}

TEST(Lending, WhatTheHostDoesNotHave_IsSaid) {
  const TestingTree tree;
  const Lending lending(tree / "gpus", "a");
  Inventory one = gpus(1);
  const auto unknown = lending.lend(one, these({"7"}), "s");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("no GPU '7'; it has: 0 (GPU-0)"));
  EXPECT_EQ(lending.lend(one, some(2), "s").error().code, ErrorCode::unsupported);
  Inventory none;
  none.problems = {"the driver is asleep"};
  const auto absent = lending.lend(none, all_of_them, "s");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::unsupported);
  EXPECT_THAT(absent.error().message, HasSubstr("has 0 GPUs, and the sandbox requests 1: the driver is asleep"));
  one.gpus.push_back(one.gpus.front());
  one.gpus.back().kind = "other/gpu";
  EXPECT_EQ(lending.lend(one, these({"0"}), "s").error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(lending.lend(one, these({"other/gpu=0"}), "s"));
  EXPECT_TRUE(lending.lend(one, GpuRequest(), "s").value().empty());
}

TEST(Lending, ManyProcessesAtOnce_NeverGetTheSame) {
  const TestingTree tree;
  constexpr int processes = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Lending lending(tree / "gpus", "p" + std::to_string(i));
      int lent = 0;
      for (int n = 0; n < 20; ++n) lent += lending.lend(gpus(40), some(1), "s" + std::to_string(n)) ? 1 : 0;
      ::_exit(lent);
    }
    children.push_back(child);
  }
  int lent = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    lent += WEXITSTATUS(status);
  }
  EXPECT_EQ(lent, 40);
  std::set<std::string> keys;
  const auto claims = Lending(tree / "gpus", "x").all().value();
  for (const auto& claim : claims) EXPECT_TRUE(keys.insert(claim.name).second);
  EXPECT_EQ(keys.size(), 40u);
}

TEST(Lending, ProcessThatIsKilled_LeavesItsLoansToTheNextOfItsInstance) {
  const TestingTree tree;
  const pid_t child = ::fork();
  if (child == 0) {
    const Lending lending(tree / "gpus", "a");
    if (!lending.lend(gpus(2), some(2), "s1")) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Lending other(tree / "gpus", "b");
  EXPECT_EQ(other.lend(gpus(2), some(1), "s9").error().code, ErrorCode::limit_reached);
  const Lending next(tree / "gpus", "a");
  EXPECT_THAT(next.borrowers().value(), ElementsAre("s1"));
  ASSERT_TRUE(next.take_back("s1"));
  EXPECT_TRUE(other.lend(gpus(2), some(2), "s9"));
}

}  // namespace
}  // namespace cloche::gpu
