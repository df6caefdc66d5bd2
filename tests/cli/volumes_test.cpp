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

}  // namespace
}  // namespace cloche
