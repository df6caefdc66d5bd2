#include "backend/docker/engine_facts.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

constexpr std::string_view whole = R"({"ServerVersion":"20.10","OSType":"linux","CgroupVersion":"2","MemoryLimit":true,
  "SwapLimit":true,"CpuCfsPeriod":true,"CpuCfsQuota":true,"PidsLimit":true,"DefaultRuntime":"runc",
  "SecurityOptions":["name=apparmor","name=seccomp,profile=default"],"Runtimes":{"runc":{},"crun":{}}})";

EngineFacts facts_without(std::string_view member) {
  json::value info = json::parse(whole).value();
  info.get_object().erase(boost::json::string_view(member.data(), member.size()));
  return facts_from_info(info);
}

TEST(ChooseRuntime, Auto_PrefersGvisorElseTheDefault) {
  EngineFacts facts = facts_without("");
  EXPECT_EQ(choose_runtime(facts, "auto"), "runc");
  facts.runtimes.emplace_back("runsc");
  EXPECT_EQ(choose_runtime(facts, "auto"), "runsc");
  EXPECT_EQ(choose_runtime(facts, "crun"), "crun");
}

TEST(ChooseRuntime, AbsentName_IsRefusedWithWhatThereIs) {
  const auto chosen = choose_runtime(facts_without(""), "kata");
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::unsupported);
  EXPECT_NE(chosen.error().message.find("'kata'; it has runc, crun"), std::string::npos) << chosen.error().message;
}

TEST(CheckWalls, WholeEngine_IsFine) { EXPECT_TRUE(check_walls(facts_without(""), "runc")); }

TEST(CheckWalls, EachMissingLimit_IsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {{"MemoryLimit", "memory limit"}, {"SwapLimit", "swap limit"},
                                                       {"CpuCfsQuota", "cpu limit"},    {"CpuCfsPeriod", "cpu limit"},
                                                       {"PidsLimit", "pids limit"},     {"SecurityOptions", "seccomp"},
                                                       {"OSType", "Linux containers"}};
  for (const auto& [member, name] : cases) {
    const auto checked = check_walls(facts_without(member), "runc");
    ASSERT_FALSE(checked) << member;
    EXPECT_EQ(checked.error().code, ErrorCode::unsupported);
    EXPECT_NE(checked.error().message.find(name), std::string::npos) << checked.error().message;
  }
}

TEST(CheckWalls, SeccompSwitchedOff_IsRefusedExceptForGvisor) {
  json::value info = json::parse(whole).value();
  info.get_object()["SecurityOptions"] = json::array{"name=seccomp,profile=unconfined"};
  EXPECT_FALSE(check_walls(facts_from_info(info), "runc"));
  EXPECT_TRUE(check_walls(facts_from_info(info), "runsc"));
}

TEST(FactsFromInfo, Nonsense_HasNoWalls) {
  for (const char* text :
       {"null", "[]", "{}", R"({"Runtimes":[1],"MemoryLimit":"yes","SecurityOptions":{"seccomp":1}})"}) {
    const EngineFacts facts = facts_from_info(json::parse(text).value());
    EXPECT_FALSE(check_walls(facts, "runc")) << text;
    EXPECT_FALSE(choose_runtime(facts, "auto")) << text;
  }
}

}  // namespace
}  // namespace cloche::docker
