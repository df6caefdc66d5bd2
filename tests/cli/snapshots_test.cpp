// `cloche snapshots` and `cloche sessions fork`.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/client.hpp"

namespace cloche {
namespace {

using testing::StartsWith;

class CliSnapshots : public CliClient {};

TEST_F(CliSnapshots, AreCreatedListedAndDeleted) {
  ASSERT_EQ(run_client({"exec", "one", "--", "sh", "-c", "echo kept > file"}).exit_code, 0);
  const CommandEnd made = run_client({"snapshots", "create", "one", "--name", "before"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, testing::MatchesRegex("s[a-z0-9]{19}\n"));
  const CommandEnd twice = run_client({"snapshots", "create", "one", "--name", "before"});
  EXPECT_NE(twice.exit_code, 0);
  EXPECT_THAT(twice.err, HasSubstr("already exists"));
  EXPECT_THAT(run_client({"snapshots", "create", "absent"}).err, HasSubstr("absent"));

  const CommandEnd listed = run_client({"snapshots", "list"});
  EXPECT_THAT(listed.out, StartsWith("TENANT   ID"));
  EXPECT_THAT(listed.out, HasSubstr("before  one"));
  const auto snapshots = json_of({"snapshots", "list"}).as_object().at("snapshots").as_array();
  ASSERT_EQ(snapshots.size(), 1u);
  EXPECT_EQ(snapshots[0].as_object().at("files").as_int64(), 1);

  EXPECT_EQ(run_client({"snapshots", "rm", "before"}).out, "deleted before\n");
  EXPECT_THAT(run_client({"snapshots", "rm", "before"}).err, HasSubstr("before: no such snapshot"));
}

TEST_F(CliSnapshots, Fork_MakesSessionsWithTheSameFiles) {
  ASSERT_EQ(run_client({"exec", "one", "--", "sh", "-c", "echo kept > file"}).exit_code, 0);
  const CommandEnd forked = run_client({"sessions", "fork", "one", "--id", "two"});
  EXPECT_EQ(forked.out, "two\n") << forked.err;
  EXPECT_EQ(run_client({"exec", "two", "--", "cat", "file"}).out, "kept\n");
  const CommandEnd both = run_client({"sessions", "fork", "one", "--id", "two", "--id", "three"});
  EXPECT_NE(both.exit_code, 0);
  EXPECT_EQ(both.out, "three\n");
  EXPECT_THAT(both.err, HasSubstr("already exists"));
  EXPECT_NE(run_client({"sessions", "fork", "one", "--count", "2", "--id", "x"}).exit_code, 0);
  EXPECT_THAT(run_client({"sessions", "fork", "absent"}).err, HasSubstr("absent"));
}

}  // namespace
}  // namespace cloche
