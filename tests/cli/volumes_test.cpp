// `cloche volumes`.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/client.hpp"

namespace cloche {
namespace {

using testing::StartsWith;

class CliVolumes : public CliClient {};

TEST_F(CliVolumes, AreCreatedListedAndDeleted) {
  const CommandEnd made = run_client({"volumes", "create", "data", "--size", "16m"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "created data\n");
  const CommandEnd twice = run_client({"volumes", "create", "data", "--size", "16m"});
  EXPECT_NE(twice.exit_code, 0);
  EXPECT_THAT(twice.err, HasSubstr("already exists"));
  EXPECT_THAT(run_client({"volumes", "create", "small", "--size", "1m"}).err,
              HasSubstr("size of a volume must be between"));

  const CommandEnd listed = run_client({"volumes", "list"});
  EXPECT_THAT(listed.out, StartsWith("TENANT   NAME      SIZE  ALLOCATED"));
  EXPECT_THAT(listed.out, HasSubstr("default  data  16.0 MiB"));
  const auto volumes = json_of({"volumes", "list"}).as_object().at("volumes").as_array();
  ASSERT_EQ(volumes.size(), 1u);
  EXPECT_EQ(volumes[0].as_object().at("size").as_int64(), 16 << 20);

  EXPECT_EQ(run_client({"volumes", "delete", "data"}).out, "deleted data\n");
  const CommandEnd gone = run_client({"volumes", "delete", "data"});
  EXPECT_NE(gone.exit_code, 0);
  EXPECT_THAT(gone.err, HasSubstr("no volume `data`; run `cloche volumes list`"));
}

TEST_F(CliVolumes, Exec_CreatesASessionWithThem) {
  ASSERT_EQ(run_client({"volumes", "create", "data", "--size", "16m"}).exit_code, 0);
  const CommandEnd wrote =
      run_client({"exec", "one", "--volume", "data:/workspace/d", "--", "sh", "-c", "echo kept > d/file"});
  EXPECT_EQ(wrote.exit_code, 0) << wrote.err;
  // Again in the same session, and without saying it.
  EXPECT_EQ(run_client({"exec", "one", "--volume", "data:/workspace/d", "--", "cat", "d/file"}).out, "kept\n");
  EXPECT_EQ(run_client({"exec", "one", "--", "cat", "d/file"}).out, "kept\n");
  for (const char* other : {"data", "data:/workspace/d:ro", "data:/workspace/e", "more:/workspace/d"}) {
    const CommandEnd refused = run_client({"exec", "one", "--volume", other, "--", "true"});
    EXPECT_NE(refused.exit_code, 0) << other;
    EXPECT_THAT(refused.err, HasSubstr("session `one` exists without these volumes: ")) << other;
  }
  ASSERT_EQ(run_client({"sessions", "kill", "one"}).exit_code, 0);
  const CommandEnd read = run_client({"exec", "two", "--volume", "data:ro", "--", "cat", "/volumes/data/file"});
  EXPECT_EQ(read.out, "kept\n") << read.err;
  EXPECT_NE(run_client({"exec", "two", "--", "touch", "/volumes/data/x"}).exit_code, 0);
  EXPECT_THAT(run_client({"exec", "three", "--volume", "none", "--", "true"}).err, HasSubstr("none"));
  EXPECT_THAT(run_client({"exec", "three", "--volume", "data:etc", "--", "true"}).err,
              HasSubstr("invalid volume 'data:etc'"));
  EXPECT_THAT(run_client({"exec", "three", "--volume", "data:/etc", "--", "true"}).err, HasSubstr("/etc"));
  EXPECT_THAT(run_client({"sessions", "list"}).out, testing::Not(HasSubstr("three")));
}

}  // namespace
}  // namespace cloche
