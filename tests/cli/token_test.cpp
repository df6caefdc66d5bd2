// `cloche token`: makes, lists and revokes tokens in the file that the service uses.
#include <sys/stat.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fstream>
#include <regex>

#include "cli/cli.hpp"

namespace cloche {
namespace {

using testing::Not;
using testing::StartsWith;

class CliToken : public Cli {
 protected:
  CommandEnd token(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "token");
    return run_command(cloche(std::move(arguments)));
  }
  std::filesystem::path file() const { return scratch_.path() / "state" / "tokens.json"; }
  std::string file_text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(CliToken, Create_PrintsTheTokenAloneAndKeepsOnlyItsHash) {
  const CommandEnd made = token({"create", "--tenant", "acme", "--note", "ci"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ASSERT_TRUE(std::regex_match(made.out, std::regex("cloche_[0-9a-f]{16}_[0-9a-f]{64}\n"))) << made.out;
  EXPECT_THAT(made.err, HasSubstr("shown only once"));
  EXPECT_THAT(made.err, Not(HasSubstr(made.out.substr(24, 64))));
  EXPECT_THAT(file_text(), Not(HasSubstr(made.out.substr(24, 64))));
  EXPECT_THAT(file_text(), HasSubstr(made.out.substr(7, 16)));
  struct stat status;
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(CliToken, ListAndRevoke_KnowWhatWasMade) {
  const CommandEnd made = token({"create", "--tenant", "acme", "--role", "admin", "--expires", "30d", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto json = parse_json(made.out).as_object();
  const std::string id(json.at("id").as_string());
  EXPECT_EQ(json.at("role").as_string(), "admin");
  EXPECT_TRUE(json.contains("expires"));
  EXPECT_THAT(std::string(json.at("token").as_string()), StartsWith("cloche_" + id + "_"));
  ASSERT_EQ(token({"create", "--tenant", "other"}).exit_code, 0);

  const CommandEnd listed = token({"list"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(id));
  EXPECT_THAT(listed.out, HasSubstr("other"));
  const auto all = parse_json(token({"list", "--json"}).out).as_array();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].as_object().contains("token"));
  EXPECT_FALSE(all[0].as_object().contains("sha256"));

  const CommandEnd revoked = token({"revoke", id});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.err;
  EXPECT_EQ(revoked.out, "revoked " + id + " of tenant acme\n");
  EXPECT_THAT(token({"list"}).out, Not(HasSubstr(id)));
  const CommandEnd again = token({"revoke", id});
  EXPECT_EQ(again.exit_code, 70);
  EXPECT_THAT(again.err, HasSubstr("no such token"));
}

TEST_F(CliToken, FileThatTheConfigurationNames_IsUsed) {
  const std::string path = scratch_.path() / "mine.json";
  const std::string config = source("cloche.yml", "server: {tokens: " + path + "}\n");
  ASSERT_EQ(token({"create", "--tenant", "acme", "--config", config}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(CliToken, Mistakes_AreExplained) {
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    const char* error;
  } cases[] = {
      {{}, 64, "A subcommand is required"},
      {{"create"}, 64, "--tenant is required"},
      {{"create", "--tenant", "a b"}, 64, "a tenant name must have 1 to 64 letters"},
      {{"create", "--tenant", "a", "--role", "king"}, 64, "king not in {user,admin}"},
      {{"create", "--tenant", "a", "--expires", "soon"}, 64, "an expiry must be"},
      {{"create", "--tenant", "a", "--expires", "1999-01-01T00:00:00Z"}, 64, "must be in the future"},
      {{"create", "--tenant", "a", "--note", "two\nlines"}, 64, "note"},
      {{"revoke", "nonsense"}, 64, "give the id of the token"},
      {{"list"}, 70, "tokens.json"},
      {{"revoke", "0123456789abcdef"}, 70, "tokens.json"},
  };
  for (const auto& test : cases) {
    const CommandEnd end = token(test.arguments);
    EXPECT_EQ(end.exit_code, test.exit_code) << end.err;
    EXPECT_THAT(end.err, HasSubstr(test.error));
    EXPECT_EQ(end.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(CliToken, FileThatOthersCanRead_IsNotUsed) {
  ASSERT_EQ(token({"create", "--tenant", "acme"}).exit_code, 0);
  ASSERT_EQ(::chmod(file().c_str(), 0644), 0);
  const CommandEnd listed = token({"list"});
  EXPECT_EQ(listed.exit_code, 70);
  EXPECT_THAT(listed.err, HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace cloche
