#include "backend/docker/engine/engine_facts.hpp"

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

EngineFacts facts_with(EngineRuntime runtime) {
  EngineFacts facts = facts_without("");
  facts.runtimes.push_back(std::move(runtime));
  return facts;
}

TEST(ChooseRuntime, Auto_PrefersGvisorElseTheDefault) {
  EXPECT_EQ(choose_runtime(facts_without(""), "auto"), "runc");
  EXPECT_EQ(choose_runtime(facts_with({"sandboxed", "/opt/gvisor/runsc", ""}), "auto"), "sandboxed");
  EXPECT_EQ(choose_runtime(facts_with({"sandboxed", "/opt/gvisor/runsc", ""}), "crun"), "crun");
  EXPECT_EQ(choose_runtime(facts_with({"runsc", "/usr/bin/runc", ""}), "auto"), "runc") << "the name says nothing";
}

TEST(ChooseRuntime, AutoWithSeveralGvisors_PrefersTheDefault) {
  EngineFacts facts = facts_with({"first", "/usr/bin/runsc", ""});
  facts.runtimes.push_back({"second", "/opt/runsc", ""});
  EXPECT_EQ(choose_runtime(facts, "auto"), "first");
  facts.default_runtime = "second";
  EXPECT_EQ(choose_runtime(facts, "auto"), "second");
}

TEST(EngineRuntime, ProgramOrTypeOfGvisor_HasAKernelOfItsOwn) {
  for (const char* path : {"runsc", "/opt/gvisor/runsc", "/usr/bin/runsc-20260905", "/opt/runsc.real"}) {
    EXPECT_EQ((EngineRuntime{"x", path, ""}.kernel()), Kernel::own) << path;
  }
  for (const char* type : {"io.containerd.runsc.v1", "/usr/local/bin/containerd-shim-runsc-v1"}) {
    EXPECT_EQ((EngineRuntime{"x", "", type}.kernel()), Kernel::own) << type;
  }
}

TEST(EngineRuntime, AnythingElse_SharesTheKernelWhateverItsName) {
  for (const char* path : {"", "runc", "/opt/runsc/runc", "/usr/bin/crunsc", "/usr/bin/runsctl", "/usr/bin/RUNSC"}) {
    EXPECT_EQ((EngineRuntime{"runsc", path, "io.containerd.runc.v2"}.kernel()), Kernel::shared) << path;
  }
}

TEST(FactsFromInfo, Runtimes_HaveTheirProgramsAndTypes) {
  json::value info = json::parse(whole).value();
  info.get_object()["Runtimes"] = json::parse(R"({"runc":{"path":"runc"},"a":{"path":"/opt/gvisor/runsc"},
      "b":{"runtimeType":"io.containerd.runsc.v1","options":{}},"c":{"path":7},"d":null})")
                                      .value();
  const EngineFacts facts = facts_from_info(info);
  EXPECT_EQ(facts.runtimes.size(), 5u);
  EXPECT_EQ(facts.kernel_of("runc"), Kernel::shared);
  EXPECT_EQ(facts.kernel_of("a"), Kernel::own);
  EXPECT_EQ(facts.kernel_of("b"), Kernel::own);
  EXPECT_EQ(facts.kernel_of("c"), Kernel::shared);
  EXPECT_EQ(facts.kernel_of("d"), Kernel::shared);
  EXPECT_EQ(facts.kernel_of("absent"), Kernel::shared);
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
  info.get_object()["Runtimes"] = json::object{{"sandboxed", json::object{{"path", "/opt/gvisor/runsc"}}}};
  EXPECT_FALSE(check_walls(facts_from_info(info), "runc"));
  EXPECT_FALSE(check_walls(facts_from_info(info), "runsc"));
  EXPECT_TRUE(check_walls(facts_from_info(info), "sandboxed"));
}

TEST(FactsFromInfo, Nonsense_HasNoWalls) {
  for (const char* text :
       {"null", "[]", "{}", R"({"Runtimes":[1],"MemoryLimit":"yes","SecurityOptions":{"seccomp":1}})"}) {
    const EngineFacts facts = facts_from_info(json::parse(text).value());
    EXPECT_FALSE(check_walls(facts, "runc")) << text;
    EXPECT_FALSE(choose_runtime(facts, "auto")) << text;
  }
}

TEST(CheckRoot, SharedKernelWithoutUserNamespaces_IsRefused) {
  EngineFacts facts;
  facts.runtimes = {{.name = "runc", .path = "runc"}, {.name = "strong", .path = "/usr/bin/runsc"}};
  EXPECT_EQ(check_root(facts, "runc").error().code, ErrorCode::unsupported);
  EXPECT_TRUE(check_root(facts, "strong"));
  for (const char* option : {"name=userns", "name=rootless"}) {
    const auto info = json::parse(std::string(R"({"SecurityOptions":["name=seccomp",")") + option + "\"]}").value();
    EXPECT_TRUE(facts_from_info(info).has_user_namespaces) << option;
  }
  facts.has_user_namespaces = true;
  EXPECT_TRUE(check_root(facts, "runc"));
}

}  // namespace
}  // namespace cloche::docker
