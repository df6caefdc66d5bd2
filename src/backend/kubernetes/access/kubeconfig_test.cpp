#include "backend/kubernetes/access/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base64.hpp"

namespace cloche::kubernetes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

std::string config(const std::string& cluster, const std::string& user, const std::string& more = "") {
  return "apiVersion: v1\nkind: Config\n"
         "clusters: [{name: c, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user +
         "}}]\n"
         "contexts: [{name: x, context: {cluster: c, user: u, namespace: ns}}, {name: y, context: {cluster: d, user: "
         "u}}]\n"
         "current-context: x\n" +
         more;
}

Result<ClusterAccess> read(const std::string& text, const std::string& context = "") {
  return read_kubeconfig({{text, "/etc/kube"}}, context);
}

TEST(Kubeconfig, FilesAreRelativeToIt) {
  const auto access =
      read(config("server: 'https://10.0.0.1:6443', certificate-authority: ca.crt, tls-server-name: api",
                  "client-certificate: /a/me.crt, client-key: keys/me.key"));
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->context, "x");
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->server_name, "api");
  EXPECT_EQ(access->authority, "/etc/kube/ca.crt");
  EXPECT_EQ(access->certificate, "/a/me.crt");
  EXPECT_EQ(access->key, "/etc/kube/keys/me.key");
  EXPECT_EQ(access->namespace_name, "ns");
}

TEST(Kubeconfig, Data_ComesBeforeFiles) {
  const std::string data = encode_base64(pem);
  const auto access =
      read(config("server: 'https://h', certificate-authority: ca.crt, certificate-authority-data: " + data,
                  "client-certificate-data: " + data + ", client-key-data: " + data + ", token: t"));
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->authority, pem);
  EXPECT_EQ(access->certificate, pem);
  EXPECT_EQ(access->key, pem);
  EXPECT_EQ(access->token, "t");
}

TEST(Kubeconfig, WhatCannotBeUsed_IsRejectedWithAReason) {
  const std::pair<std::string, std::string> cases[] = {
      {config("server: 'http://h'", "token: t"), "https"},
      {config("server: 'https://h', insecure-skip-tls-verify: true", "token: t"), "insecure-skip-tls-verify"},
      {config("server: 'https://h', proxy-url: 'http://p'", "token: t"), "proxy-url"},
      {config("server: 'https://h', certificate-authority-data: '%%%'", "token: t"), "certificate-authority-data"},
      {config("server: 'https://h'", "client-certificate: a"), "client-key"},
      {config("server: 'https://h'", "username: a, password: b"), "password"},
      {config("server: 'https://h'", "auth-provider: {name: gcp}"), "auth-provider"},
      {config("server: 'https://h'", "as: admin, token: t"), "as"},
      {config("server: 'https://h'", "token: 'a b'"), "token"},
      {config("server: 'https://h'", "exec: {command: x}"), "apiVersion"},
      {config("server: 'https://h'", "exec: {apiVersion: client.authentication.k8s.io/v1}"), "command"},
      {config("server: 'https://h'",
              "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}"),
       "terminal"},
      {"[]", "map"},
      {"a: [", "line"},
      {"clusters: []", "current-context"},
  };
  for (const auto& [text, words] : cases) {
    const auto access = read(text);
    ASSERT_FALSE(access) << text;
    EXPECT_EQ(access.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(access.error().message, HasSubstr(words)) << text;
  }
  EXPECT_THAT(read(config("server: 'https://h'", "token: t"), "z").error().message, HasSubstr("context 'z'"));
  EXPECT_THAT(read(config("server: 'https://h'", "token: t"), "y").error().message, HasSubstr("cluster 'd'"));
}

TEST(Kubeconfig, SecretOfAnInvalidFile_IsNotRepeated) {
  const auto access = read("users: [{name: u, user: {token: \"hunter2");
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, Not(HasSubstr("hunter2")));
}

TEST(Kubeconfig, SeveralFiles_TheFirstWithANameDefinesIt) {
  const auto access =
      read_kubeconfig({{"current-context: y\n", "/a"},
                       {"clusters: [{name: d, cluster: {server: 'https://d', certificate-authority: ca}}]", "/b"},
                       {config("server: 'https://c'", "token: t"), "/c"}},
                      "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->context, "y");
  EXPECT_EQ(access->server, "https://d");
  EXPECT_EQ(access->authority, "/b/ca");
}

TEST(Kubeconfig, Plugin_IsReadWithItsArguments) {
  const auto access = read(config("server: 'https://h'",
                                  "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/login, "
                                  "args: [a, b], env: [{name: N, value: v}]}"));
  ASSERT_TRUE(access) << access.error().message;
  ASSERT_TRUE(access->plugin);
  EXPECT_EQ(access->plugin->command, "/etc/kube/./bin/login");
  EXPECT_THAT(access->plugin->args, ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(access->plugin->env, ::testing::ElementsAre(::testing::Pair("N", "v")));
  EXPECT_THAT(plugin_request(*access->plugin), HasSubstr("client.authentication.k8s.io/v1beta1"));
}

TEST(PluginCredential, TokenAndExpiry_AreRead) {
  const auto credential = read_plugin_credential(
      R"({"kind":"ExecCredential","status":{"token":"abc","expirationTimestamp":"2031-05-17T09:30:00Z"}})");
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "abc");
  EXPECT_EQ(credential->expires, "2031-05-17T09:30:00Z");
}

TEST(PluginCredential, AnythingElse_IsRejected) {
  for (const char* text : {"", "[]", "{}", R"({"kind":"ExecCredential"})", R"({"kind":"ExecCredential","status":{}})",
                           R"({"kind":"ExecCredential","status":{"token":"a b"}})",
                           R"({"kind":"ExecCredential","status":{"clientCertificateData":"x"}})",
                           R"({"kind":"ExecCredential","status":{"clientCertificateData":"x","clientKeyData":"y"}})"}) {
    EXPECT_FALSE(read_plugin_credential(text)) << text;
  }
}

TEST(ObjectName, OnlyPlainNames_AreValid) {
  for (const char* name : {"a", "cloche-1", "a.b"}) EXPECT_TRUE(is_object_name(name)) << name;
  for (const char* name : {"", "A", "a/b", "-a", "a-", "a?b", "a..%2f"}) EXPECT_FALSE(is_object_name(name)) << name;
}

}  // namespace
}  // namespace cloche::kubernetes
