#include "backend/kubernetes/pod/pod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::kubernetes {
namespace {

using ::testing::HasSubstr;

Pod pod_with(const std::string& status) {
  const auto object =
      json::parse(R"({"metadata":{"name":"p","uid":"u","resourceVersion":"7"},"status":)" + status + "}");
  return read_pod(*object).value();
}

std::string waiting(const std::string& reason, const std::string& list = "containerStatuses",
                    const std::string& name = "sandbox") {
  return R"({"phase":"Pending",")" + list + R"(":[{"name":")" + name + R"(","state":{"waiting":{"reason":")" + reason +
         R"(","message":"m"}}}]})";
}

TEST(Pod, RunningContainer_IsRunning) {
  const Pod pod = pod_with(R"({"phase":"Running","containerStatuses":[{"name":"sandbox","state":{"running":{}},
    "resources":{"limits":{"memory":"128Mi","cpu":"500m"}}}]})");
  EXPECT_TRUE(is_running(pod));
  EXPECT_FALSE(has_ended(pod));
  EXPECT_FALSE(trouble_of(pod));
  EXPECT_EQ(pod.sandbox.memory, mib(128));
  EXPECT_EQ(pod.sandbox.cpu, "500m");
}

TEST(Pod, MissingImage_SaysWhatToDo) {
  for (const char* reason : {"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}) {
    const auto trouble = trouble_of(pod_with(waiting(reason)));
    ASSERT_TRUE(trouble) << reason;
    EXPECT_EQ(trouble->code, ErrorCode::not_found);
    EXPECT_THAT(trouble->message, HasSubstr("pull policy"));
    const auto of_agent = trouble_of(pod_with(waiting(reason, "initContainerStatuses", "agent")));
    ASSERT_TRUE(of_agent);
    EXPECT_THAT(of_agent->message, HasSubstr("the agent"));
  }
}

TEST(Pod, WhatPassesByItself_IsNoTrouble) {
  for (const char* reason : {"ContainerCreating", "PodInitializing", "ErrImagePull"})
    EXPECT_FALSE(trouble_of(pod_with(waiting(reason)))) << reason;
  const Pod unscheduled = pod_with(
      R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes"}]})");
  EXPECT_FALSE(trouble_of(unscheduled));
  EXPECT_THAT(delay_of(unscheduled), HasSubstr("0/3 nodes"));
}

TEST(Pod, Ends_AreTold) {
  const Pod evicted = pod_with(R"({"phase":"Failed","reason":"Evicted","message":"low on memory"})");
  EXPECT_TRUE(has_ended(evicted));
  EXPECT_THAT(end_of(evicted), HasSubstr("evicted the pod: low on memory"));
  const Pod killed = pod_with(
      R"({"phase":"Failed","containerStatuses":[{"name":"sandbox","state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]})");
  EXPECT_TRUE(was_out_of_memory(killed));
  EXPECT_THAT(end_of(killed), HasSubstr("memory limit"));
  EXPECT_EQ(trouble_of(killed)->code, ErrorCode::limit_reached);
  const Pod failed = pod_with(
      R"({"phase":"Failed","containerStatuses":[{"name":"sandbox","state":{"terminated":{"reason":"Error","exitCode":1}}}]})");
  EXPECT_FALSE(was_out_of_memory(failed));
  EXPECT_THAT(end_of(failed), HasSubstr("exit code 1"));
}

TEST(Pod, ResizeThatIsNotInForce_IsReported) {
  EXPECT_EQ(
      pod_with(
          R"({"phase":"Running","conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible","message":"too much"}]})")
          .resize,
      "Infeasible: too much");
  EXPECT_EQ(pod_with(R"({"phase":"Running","conditions":[{"type":"PodResizeInProgress","status":"True"}]})").resize,
            "");
}

TEST(Pod, WhatIsNoPod_IsRejected) {
  for (const char* text : {"{}", "[]", R"({"metadata":{"name":"../x","uid":"u"}})", R"({"metadata":{"name":"x"}})"})
    EXPECT_FALSE(read_pod(*json::parse(text))) << text;
}

TEST(Quantity, UnitsOfKubernetes_AreRead) {
  EXPECT_EQ(read_quantity("128Mi"), mib(128));
  EXPECT_EQ(read_quantity("1Gi"), mib(1024));
  EXPECT_EQ(read_quantity("1000"), Bytes{1000});
  EXPECT_EQ(read_quantity("5k"), Bytes{5000});
  for (const char* text : {"", "x", "1.5Gi", "10Qi", "99999999999999999999", "9999999999Ti"})
    EXPECT_EQ(read_quantity(text), Bytes{0}) << text;
}

}  // namespace
}  // namespace cloche::kubernetes
