#include "backend/kubernetes/pod/pod_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kubernetes/cluster.hpp"
#include "backend/kubernetes/pod/marks.hpp"

namespace cloche::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KubernetesSettings settings() {
  KubernetesSettings made;
  made.namespace_name = "ns";
  made.agent_image = "agent:1";
  made.instance = {"0123456789ABCDEF", "main", ""};
  return made;
}

json::value body_of(PodPlan plan = {}, const KubernetesSettings& with = settings()) {
  SandboxSpec spec;
  spec.image = "debian:12";
  spec.limits.memory = mib(128);
  spec.limits.cpus = 0.5;
  plan.name = "cloche-x";
  plan.id = {"abc"};
  return pod_body(spec, plan, with);
}

const json::value& container_of_body(const json::value& body) {
  return json::find(body, "spec", "containers")->get_array().at(0);
}

TEST(PodBody, EveryWall_IsUp) {
  const json::value body = body_of();
  const json::value& spec = *json::find(body, "spec");
  EXPECT_EQ(json::text(json::find(spec, "restartPolicy")), "Never");
  for (const char* name : {"automountServiceAccountToken", "enableServiceLinks", "hostNetwork", "hostPID", "hostIPC",
                           "shareProcessNamespace"}) {
    ASSERT_NE(json::find(spec, name), nullptr) << name;
    EXPECT_FALSE(json::truth(json::find(spec, name))) << name;
  }
  EXPECT_EQ(json::text(json::find(spec, "securityContext", "seccompProfile", "type")), "RuntimeDefault");
  const json::value& container = container_of_body(body);
  const json::value& context = *json::find(container, "securityContext");
  EXPECT_EQ(*json::find(context, "allowPrivilegeEscalation"), false);
  EXPECT_EQ(*json::find(context, "privileged"), false);
  EXPECT_EQ(*json::find(context, "readOnlyRootFilesystem"), true);
  EXPECT_THAT(json::texts(json::find(context, "capabilities", "drop")), ElementsAre("ALL"));
  EXPECT_THAT(json::texts(json::find(context, "capabilities", "add")),
              ElementsAre("CHOWN", "SETUID", "SETGID", "KILL"));
  EXPECT_THAT(json::text(json::find(container, "terminationMessagePath")), ::testing::StartsWith("/.cloche/"));
  EXPECT_EQ(*json::find(container, "stdin"), false);
}

TEST(PodBody, Limits_AreExactAndRequestsAreAQuarter) {
  const json::value body = body_of();
  const json::value& resources = *json::find(container_of_body(body), "resources");
  EXPECT_EQ(json::text(json::find(resources, "limits", "memory")), "128Mi");
  EXPECT_EQ(json::text(json::find(resources, "limits", "cpu")), "500m");
  EXPECT_EQ(json::text(json::find(resources, "requests", "memory")), "32Mi");
  EXPECT_EQ(json::text(json::find(resources, "requests", "cpu")), "125m");
  EXPECT_EQ(cpu_quantity(2), "2");
  EXPECT_EQ(memory_quantity({1000}), "1000");
  const json::value resize = resize_body(Limits());
  const json::value& resized = *json::find(json::find(resize, "spec", "containers")->get_array().at(0), "resources");
  EXPECT_EQ(json::find(resized, "limits", "ephemeral-storage"), nullptr);
}

TEST(PodBody, WritableVolumes_AreInMemoryAndLimited) {
  const json::value body = body_of();
  int in_memory = 0;
  for (const json::object& volume : json::objects(json::find(body, "spec", "volumes"))) {
    const json::value* directory = json::find(volume, "emptyDir");
    if (directory == nullptr) continue;
    EXPECT_NE(json::text(json::find(*directory, "sizeLimit")), "");
    EXPECT_EQ(json::text(json::find(*directory, "medium")), "Memory");
    ++in_memory;
  }
  EXPECT_EQ(in_memory, 4);
}

TEST(PodBody, MarksAndNames_AreThere) {
  PodPlan plan;
  plan.uid = 1073741999;
  const json::value body = body_of(plan);
  const auto labels = json::text_map(json::find(body, "metadata", "labels"));
  EXPECT_EQ(labels.at(marks::owner), "0123456789ABCDEF");
  EXPECT_EQ(labels.at(marks::sandbox), "abc");
  EXPECT_EQ(labels.at(marks::state), "claimed");
  const auto annotations = json::text_map(json::find(body, "metadata", "annotations"));
  EXPECT_THAT(annotations.at(marks::passwd), ::testing::StartsWith("sandbox:x:1073741999:1000:"));
  EXPECT_THAT(annotations.at(marks::passwd), HasSubstr("\nroot:x:0:0:"));
  EXPECT_EQ(marks::pod_name(settings().instance, "s1"), "cloche-01234567-s1");
  EXPECT_EQ(marks::pod_name({"___"}, "s1"), "cloche-s1");
}

TEST(PodBody, Agent_ComesByAnImageVolumeOrAnInitContainer) {
  const json::value by_image = body_of();
  EXPECT_EQ(json::find(by_image, "spec", "initContainers"), nullptr);
  PodPlan plan;
  plan.has_image_volume = false;
  const json::value by_copy = body_of(plan);
  const json::value& init = json::find(by_copy, "spec", "initContainers")->get_array().at(0);
  EXPECT_EQ(json::text(json::find(init, "image")), "agent:1");
  EXPECT_THAT(json::texts(json::find(init, "command")), ElementsAre("/cloche-agent", "install", agent_in_pod));
  EXPECT_TRUE(json::texts(json::find(init, "securityContext", "capabilities", "add")).empty());
}

TEST(PodBody, Settings_ReachThePod) {
  KubernetesSettings with = settings();
  with.pull_policy = "Never";
  with.pull_secrets = {"s"};
  with.node_selector = {{"pool", "a"}};
  with.tolerations = {{"k", "", "NoSchedule"}};
  PodPlan plan;
  plan.runtime_class = "gvisor";
  plan.has_user_namespace = true;
  const json::value body = body_of(plan, with);
  EXPECT_EQ(json::text(json::find(body, "spec", "runtimeClassName")), "gvisor");
  EXPECT_EQ(*json::find(body, "spec", "hostUsers"), false);
  EXPECT_EQ(json::text(json::find(body, "spec", "nodeSelector", "pool")), "a");
  EXPECT_EQ(json::text(json::find(container_of_body(body), "imagePullPolicy")), "Never");
  EXPECT_EQ(json::text(json::find(json::find(body, "spec", "tolerations")->get_array().at(0), "operator")), "Exists");
}

ClusterFacts facts() {
  ClusterFacts made;
  made.minor = 36;
  made.classes = {{"runc", "runc"}, {"crun", "crun"}, {"gvisor", "runsc"}};
  made.user_namespaces = {{"", true}, {"runc", true}, {"crun", false}, {"runsc", true}};
  return made;
}

TEST(PodPlan, RuntimeDecidesKernelAndUserNamespace) {
  SandboxSpec spec;
  const auto usual = plan_for(spec, facts(), settings());
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->runtime_class, "");
  EXPECT_TRUE(usual->has_user_namespace);
  EXPECT_EQ(usual->uid, usual_uid);
  spec.runtime = "gvisor";
  const auto gvisor = plan_for(spec, facts(), settings());
  ASSERT_TRUE(gvisor);
  EXPECT_EQ(gvisor->kernel, Kernel::own);
  EXPECT_FALSE(gvisor->has_user_namespace) << "gVisor reports them, and cannot start such a pod";
  EXPECT_EQ(gvisor->uid, usual_uid);
  spec.runtime = "crun";
  const auto crun = plan_for(spec, facts(), settings());
  ASSERT_TRUE(crun);
  EXPECT_FALSE(crun->has_user_namespace);
  EXPECT_GE(crun->uid, 0x4000'0000U) << "a uid of its own";
  EXPECT_NE(crun->uid, plan_for(spec, facts(), settings())->uid);
  spec.uid = 1234;
  EXPECT_EQ(plan_for(spec, facts(), settings())->uid, 1234U);
}

TEST(PodPlan, UnknownRuntime_ListsTheKnownOnes) {
  SandboxSpec spec;
  spec.runtime = "kata";
  const auto refused = plan_for(spec, facts(), settings());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("crun, gvisor, runc"));
  ClusterFacts unknown = facts();
  unknown.classes.reset();
  unknown.user_namespaces.reset();
  const auto hoped = plan_for(spec, unknown, settings());
  ASSERT_TRUE(hoped);
  EXPECT_EQ(hoped->runtime_class, "kata");
  EXPECT_FALSE(hoped->has_user_namespace);
}

TEST(PodPlan, OldCluster_CopiesTheAgent) {
  ClusterFacts old = facts();
  old.minor = 34;
  EXPECT_FALSE(plan_for(SandboxSpec(), old, settings())->has_image_volume);
  EXPECT_TRUE(plan_for(SandboxSpec(), facts(), settings())->has_image_volume);
}

}  // namespace
}  // namespace cloche::kubernetes
