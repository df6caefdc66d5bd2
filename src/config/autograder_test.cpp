#include "config/autograder.hpp"

#include <gmock/gmock.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* grader_file = R"(general:
  # Minimum idle sandboxes per language (always kept warm)
  pool_size: 2
  # Maximum total sandboxes (active + idle) per language
  scale_limit: 8
  idle_timeout: 300
  running_timeout: 60
)";

ManagerOptions read(const std::string& text, const Environment& environment = {}) {
  auto config = parse_config(text, "sandbox_config.yml", environment);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return config ? config->manager : ManagerOptions{};
}

std::string error_of(const std::string& text) {
  const auto config = parse_config(text, "sandbox_config.yml", {});
  return config ? "none" : config.error().message;
}

const Profile& profile(const ManagerOptions& options, const std::string& name) {
  for (const Profile& candidate : options.profiles) {
    if (candidate.name == name) return candidate;
  }
  throw std::out_of_range(name);
}

TEST(Autograder, GeneralSection_GivesEachLanguageAPool) {
  const ManagerOptions options = read(grader_file);
  EXPECT_EQ(options.name_prefix, "ag-sbx");
  EXPECT_EQ(options.profiles.size(), 5U);
  for (const auto* name : {"python", "java", "node", "cpp", "c"}) {
    const Profile& one = profile(options, name);
    EXPECT_EQ(one.pool.pool_size, 2U);
    EXPECT_EQ(one.pool.scale_limit, 8U);
    EXPECT_EQ(one.pool.idle_timeout, 5min);
    EXPECT_EQ(one.pool.running_timeout, 1min);
    EXPECT_EQ(one.pool.at_limit, AtLimit::fail);
    EXPECT_EQ(one.sandbox.work_dir, "/app");
    EXPECT_EQ(one.sandbox.limits.memory, mib(128));
    EXPECT_EQ(one.sandbox.limits.cpus, 0.5);
    EXPECT_EQ(one.sandbox.limits.pids, 64U);
    EXPECT_EQ(one.sandbox.limits.file_size, mib(10));
    EXPECT_EQ(one.sandbox.limits.work_dir, mib(64));
    EXPECT_EQ(one.sandbox.limits.tmp_dir, mib(32));
    EXPECT_EQ(one.sandbox.image, "");
  }
}

TEST(Autograder, NothingInGeneral_HasItsDefaults) {
  const ManagerOptions options = read("general:\n");
  EXPECT_EQ(profile(options, "java").pool.pool_size, 3U);
  EXPECT_EQ(profile(options, "java").pool.scale_limit, 10U);
  EXPECT_EQ(profile(options, "java").pool.idle_timeout, 600s);
  EXPECT_EQ(profile(options, "java").pool.running_timeout, 120s);
}

TEST(Autograder, OnDocker_HasItsImages) {
  const ManagerOptions options = read(grader_file, {{"SANDBOX_BACKEND", "docker"}});
  EXPECT_EQ(profile(options, "python").sandbox.image, "sandbox-py:latest");
  EXPECT_EQ(profile(options, "node").sandbox.image, "sandbox-node:latest");
  EXPECT_EQ(profile(options, "c").sandbox.image, "sandbox-cpp:latest");
}

TEST(Autograder, SectionOfALanguage_OverridesGeneral) {
  for (const std::string more : {"python: {pool_size: 5}\njava: {scale_limit: 3, at_limit: wait}\n",
                                 "languages:\n  python: {pool_size: 5}\n  java: {scale_limit: 3, at_limit: wait}\n"}) {
    const ManagerOptions options = read(grader_file + more);
    EXPECT_EQ(profile(options, "python").pool.pool_size, 5U);
    EXPECT_EQ(profile(options, "python").pool.scale_limit, 8U);
    EXPECT_EQ(profile(options, "java").pool.pool_size, 2U);
    EXPECT_EQ(profile(options, "java").pool.scale_limit, 3U);
    EXPECT_EQ(profile(options, "java").pool.at_limit, AtLimit::wait);
    EXPECT_EQ(profile(options, "cpp").pool.pool_size, 2U);
  }
}

TEST(Autograder, BadFile_IsRefused) {
  const std::string good = grader_file;
  EXPECT_THAT(error_of(good + "pyhton: {pool_size: 5}\n"),
              HasSubstr("sandbox_config.yml: unknown key `pyhton` (line 8) at the top level; did you mean `python`?"));
  EXPECT_THAT(error_of(good + "languages: {ruby: {pool_size: 5}}\n"),
              HasSubstr("unknown key `ruby` (line 8) in languages"));
  EXPECT_THAT(error_of("general: {pool_sise: 5}\n"), HasSubstr("did you mean `pool_size`?"));
  EXPECT_THAT(error_of("general: {pool_size: 20}\n"),
              HasSubstr("general (line 1): pool_size is 20 but scale_limit is only 10"));
  EXPECT_THAT(error_of(good + "java: {pool_size: 20}\n"),
              HasSubstr("java (line 8): pool_size is 20 but scale_limit is only 8"));
  EXPECT_THAT(error_of(good + "profiles: {}\n"), HasSubstr("unknown key `profiles` (line 8) at the top level"));
  EXPECT_THAT(error_of("general: 3\n"), HasSubstr("general (line 1): must be a map"));
}

}  // namespace
}  // namespace cloche::config
