// `cloche doctor`: what this host supports.
#include "cli/cli.hpp"

namespace cloche {
namespace {

using CliDoctor = CliRun;

TEST_F(CliDoctor, Text_NamesBothBackendsAndTheRuntime) {
  const CommandEnd end = run_command(cloche({"doctor"}));
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, testing::StartsWith("oci\n"));
  EXPECT_THAT(end.out, HasSubstr("runtime crun"));
  EXPECT_THAT(end.out, HasSubstr("\ndocker\n"));
}

TEST_F(CliDoctor, Json_HasAFindingForEachThing) {
  const CommandEnd end = run_command(cloche({"doctor", "--json"}));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  const auto json = parse_json(end.out);
  bool found = false;
  for (const auto& finding : json.as_array()) {
    EXPECT_THAT(std::string(finding.at("level").as_string()), testing::AnyOf("good", "warning", "missing"));
    if (finding.at("level").as_string() != "good") {
      EXPECT_FALSE(finding.at("advice").as_string().empty());
    }
    found = found || (finding.at("backend").as_string() == "oci" && finding.at("name").as_string() == "runtime auto");
  }
  EXPECT_TRUE(found) << end.out;
}

TEST_F(CliDoctor, BackendThatCannotWork_IsInTheExitCode) {
  const CommandEnd end =
      run_command(cloche({"doctor", "--backend", "docker", "--docker-host", "unix:///nowhere/docker.sock"}));
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.out, HasSubstr("/nowhere/docker.sock"));
  EXPECT_THAT(end.out, HasSubstr("-> "));
}

}  // namespace
}  // namespace cloche
