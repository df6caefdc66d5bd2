// `kubernetes:` of a configuration, and the variables over it.
#include <gmock/gmock.h>

#include "config/config.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(KubernetesConfig, Section_IsRead) {
  const auto config = parse_config(
      "backend: kubernetes\n"
      "kubernetes: {kubeconfig: /etc/kube/config, context: prod, namespace: sandboxes, agent_image: 'r/agent:1',\n"
      "             image_pull_policy: IfNotPresent, image_pull_secrets: [a, b], agent_volume: init_container,\n"
      "             node_selector: {pool: sandboxes}, tolerations: [{key: only, value: sandboxes, effect: "
      "NoSchedule}]}\n",
      "c", {});
  ASSERT_TRUE(config) << config.error().message;
  const KubernetesOptions& options = config->manager.engine.kubernetes;
  EXPECT_EQ(config->manager.engine.backend, BackendKind::kubernetes);
  EXPECT_EQ(options.kubeconfig, "/etc/kube/config");
  EXPECT_EQ(options.context, "prod");
  EXPECT_EQ(options.namespace_name, "sandboxes");
  EXPECT_EQ(options.agent_image, "r/agent:1");
  EXPECT_EQ(options.image_pull_policy, "IfNotPresent");
  EXPECT_THAT(options.image_pull_secrets, ElementsAre("a", "b"));
  EXPECT_EQ(options.agent_volume, KubernetesOptions::AgentVolume::init_container);
  EXPECT_EQ(options.node_selector.at("pool"), "sandboxes");
  ASSERT_EQ(options.tolerations.size(), 1U);
  EXPECT_EQ(options.tolerations[0].key, "only");
  EXPECT_EQ(options.tolerations[0].effect, "NoSchedule");
}

TEST(KubernetesConfig, Variables_AreOverTheFile) {
  const auto config = parse_config("kubernetes: {namespace: a, agent_image: x, context: y}", "c",
                                   {{"SANDBOX_BACKEND", "kubernetes"},
                                    {"KUBECONFIG", "/k"},
                                    {"CLOCHE_KUBERNETES_NAMESPACE", "b"},
                                    {"CLOCHE_KUBERNETES_CONTEXT", "z"},
                                    {"CLOCHE_KUBERNETES_AGENT_IMAGE", "agent:2"}});
  ASSERT_TRUE(config) << config.error().message;
  const KubernetesOptions& options = config->manager.engine.kubernetes;
  EXPECT_EQ(config->manager.engine.backend, BackendKind::kubernetes);
  EXPECT_EQ(options.kubeconfig, "/k");
  EXPECT_EQ(options.namespace_name, "b");
  EXPECT_EQ(options.context, "z");
  EXPECT_EQ(options.agent_image, "agent:2");
}

TEST(KubernetesConfig, UnknownWords_AreRejected) {
  for (const char* text : {"kubernetes: {image_pull_policy: Sometimes}", "kubernetes: {agent_volume: disk}",
                           "kubernetes: {tolerations: [{effect: Never}]}"}) {
    const auto refused = parse_config(text, "c", {});
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, HasSubstr("one of"));
  }
}

TEST(KubernetesConfig, ProfileWithoutAnImage_HasTheUsualOne) {
  const auto config = parse_config("backend: kubernetes\nprofiles: {a: {}}", "c", {{"SANDBOX_WORKER_IMAGE", "mine"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.profiles.at(0).sandbox.image, "mine");
}

}  // namespace
}  // namespace cloche::config
