// `e2b:` of a configuration, the variables over it, and limits that a template has.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/config.hpp"
#include "sandbox/limits.hpp"

namespace cloche::config {
namespace {

using testing::HasSubstr;

TEST(E2bConfig, Section_IsRead) {
  const auto config = parse_config(
      "backend: e2b\n"
      "e2b: {api_key: {env: MY_KEY}, domain: sbx.example.com, template: mine, allow_internet_access: true,\n"
      "      secure_access: false, api_url: 'http://localhost:3000', sandbox_url: 'http://localhost:3002'}\n",
      "c", {{"MY_KEY", "e2b_secret"}});
  ASSERT_TRUE(config) << config.error().message;
  const E2bOptions& e2b = config->manager.engine.e2b;
  EXPECT_EQ(config->manager.engine.backend, BackendKind::e2b);
  EXPECT_EQ(e2b.api_key, "e2b_secret");
  EXPECT_EQ(e2b.domain, "sbx.example.com");
  EXPECT_EQ(e2b.template_name, "mine");
  EXPECT_EQ(e2b.allow_internet_access, true);
  EXPECT_EQ(e2b.secure_access, false);
  EXPECT_EQ(e2b.api_url, "http://localhost:3000");
  EXPECT_EQ(e2b.sandbox_url, "http://localhost:3002");
  EXPECT_FALSE(config->holds_secrets);
}

TEST(E2bConfig, Variables_AreOverTheFile) {
  const auto config = parse_config("e2b: {domain: a.example, template: mine}\n", "c",
                                   {{"SANDBOX_BACKEND", "e2b"},
                                    {"E2B_API_KEY", "e2b_key"},
                                    {"E2B_DOMAIN", "b.example"},
                                    {"E2B_SECURE_ACCESS", "false"},
                                    {"E2B_ALLOW_INTERNET_ACCESS", "0"}});
  ASSERT_TRUE(config) << config.error().message;
  const E2bOptions& e2b = config->manager.engine.e2b;
  EXPECT_EQ(e2b.api_key, "e2b_key");
  EXPECT_EQ(e2b.domain, "b.example");
  EXPECT_EQ(e2b.template_name, "mine");
  EXPECT_EQ(e2b.secure_access, false);
  EXPECT_EQ(e2b.allow_internet_access, false);
  const auto odd = parse_config("", "c", {{"E2B_SECURE_ACCESS", "maybe"}});
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("E2B_SECURE_ACCESS"));
}

TEST(E2bConfig, Key_IsNeverInTheFile) {
  for (const char* text : {"e2b: {api_key: e2b_secret}", "e2b: {api_key: {value: e2b_secret}}", "e2b: {api_key: {}}",
                           "e2b: {api_key: {env: A, file: /b}}"}) {
    const auto refused = parse_config(text, "c", {{"A", "x"}});
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("e2b_secret"))) << text;
  }
  const auto path = std::filesystem::temp_directory_path() / "cloche-e2b-key";
  std::ofstream(path) << "e2b_from_file\n";
  ::chmod(path.c_str(), 0600);
  const auto config = parse_config("e2b: {api_key: {file: " + path.string() + "}}", "c", {});
  std::filesystem::remove(path);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.engine.e2b.api_key, "e2b_from_file");
}

TEST(E2bConfig, ProfilesHaveTheSizesOfTheTemplate) {
  const auto config = parse_config(
      "backend: e2b\nlimits: {pids: 99}\nprofiles: {a: {limits: {file_size: 5m}}, b: {image: mine}}", "c", {});
  ASSERT_TRUE(config) << config.error().message;
  const SandboxSpec& a = config->manager.profiles.at(0).sandbox;
  EXPECT_TRUE(are_of_image(a.limits));
  EXPECT_EQ(a.limits.pids, 99U);
  EXPECT_EQ(a.limits.file_size, mib(5));
  EXPECT_EQ(a.image, "") << "the backend's own setting";
  EXPECT_EQ(config->manager.profiles.at(1).sandbox.image, "mine");
  EXPECT_EQ(config->sessions.image, "");
}

TEST(E2bConfig, SizeThatCannotBeEnforced_IsRefusedByItsKey) {
  for (const char* key : {"memory", "work_dir", "tmp_dir", "shm_dir"}) {
    const auto refused = parse_config("backend: e2b\nlimits: {" + std::string(key) + ": 64m}", "c", {});
    ASSERT_FALSE(refused) << key;
    EXPECT_THAT(refused.error().message, HasSubstr(key));
    EXPECT_THAT(refused.error().message, HasSubstr("template"));
  }
  EXPECT_FALSE(parse_config("backend: e2b\nprofiles: {a: {limits: {cpus: 2}}}", "c", {}));
  EXPECT_TRUE(parse_config("backend: oci\nprofiles: {a: {limits: {cpus: 2}}}", "c", {}));
  // A variable chooses the backend, too.
  EXPECT_FALSE(parse_config("limits: {memory: 64m}", "c", {{"CLOCHE_BACKEND", "e2b"}}));
}

TEST(E2bConfig, OtherBackends_IgnoreVariablesOfE2bsClients) {
  const auto config = parse_config("", "c", {{"E2B_API_KEY", "e2b_x"}, {"E2B_TEMPLATE", "t"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->manager.engine.backend, BackendKind::oci);
}

}  // namespace
}  // namespace cloche::config
