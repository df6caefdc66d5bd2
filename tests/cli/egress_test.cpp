// `cloche egress`, and networks that `exec` and `run` choose.
#include <filesystem>
#include <fstream>

#include "cli/client.hpp"

namespace cloche {
namespace {

using testing::StartsWith;

constexpr const char* fetch =
    "import urllib.error, urllib.request\n"
    "try:\n    urllib.request.urlopen('http://other.example/')\n"
    "except urllib.error.HTTPError as error:\n    print(error.code)\n"
    "except OSError as error:\n    print('failed')\n";

class CliEgress : public CliClient {
 protected:
  void SetUp() override {
    CliRun::SetUp();
    if (IsSkipped()) return;
    start_service("egress: {choose: {tenants: all}}\n");
  }
};

TEST_F(CliEgress, NetworkOfASession_IsChosenByExecAndItsConnectionsAreListed) {
  EXPECT_EQ(run_client({"exec", "demo", "-c", fetch}).out, "failed\n");
  const CommandEnd refused = run_client({"exec", "demo", "--allow", "allowed.example", "-c", fetch});
  EXPECT_EQ(refused.out, "403\n") << refused.err;
  const CommandEnd listed = run_client({"egress", "log", "demo"});
  EXPECT_THAT(listed.out, StartsWith("TIME"));
  EXPECT_THAT(listed.out, HasSubstr("denied"));
  EXPECT_THAT(listed.out, HasSubstr("other.example:80"));
  EXPECT_EQ(json_of({"egress", "log", "demo"}).at("events").as_array().size(), 1u);
  EXPECT_EQ(run_client({"exec", "demo", "--network", "none", "-c", fetch}).out, "failed\n");
  // A stream of a session without network ends with what there is.
  EXPECT_THAT(run_client({"egress", "log", "demo", "--follow"}).out, HasSubstr("denied  other.example:80"));
  EXPECT_THAT(run_client({"exec", "demo", "--rules", "missing", "true"}).err, HasSubstr("no such rule set: `missing`"));
  EXPECT_THAT(run_client({"exec", "demo", "--network", "none", "--allow", "a.example", "true"}).err,
              HasSubstr("`none` has no rules"));
}

TEST_F(CliEgress, Run_HasANetworkOfItsOwn) {
  const std::string file = source("fetch.py", fetch);
  EXPECT_EQ(run_command(cloche({"run", "--runtime", "crun", file})).out, "failed\n");
  const CommandEnd refused = run_command(cloche({"run", "--runtime", "crun", "--allow", "allowed.example", file}));
  EXPECT_EQ(refused.out, "403\n") << refused.err;
}

TEST_F(CliEgress, Learn_PrintsARuleSetAndSkipsWhatIsNotThere) {
  const std::string directory = path_of("clients");
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/npm") << "#!/bin/sh\necho '{\"registry\": \"https://user:word@n.example/\"}'\n";
  std::filesystem::permissions(directory + "/npm", std::filesystem::perms(0755));
  CommandSpec spec = cloche({"egress", "learn", "npm", "--name", "mine"});
  spec.env["PATH"] = directory + ":/usr/bin:/bin";
  const CommandEnd learned = run_command(spec);
  EXPECT_EQ(learned.exit_code, 0) << learned.err;
  EXPECT_THAT(learned.out, HasSubstr("    mine:\n      allow:\n      - \"n.example:443\"  # npm\n"));
  EXPECT_THAT(learned.out, testing::Not(HasSubstr("word")));
}

}  // namespace
}  // namespace cloche
