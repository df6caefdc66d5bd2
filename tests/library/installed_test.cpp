// The library as others find it: installed, found by CMake, built into a program that is not ours, and run.
#include "library/library.hpp"
#include "support/command.hpp"

namespace cloche {
namespace {

using testing_support::CommandEnd;
using testing_support::run_command;

class Installed : public Library {
 protected:
  static void succeed(std::vector<std::string> argv) {
    testing_support::CommandSpec spec;
    spec.argv = std::move(argv);
    testing_support::Command command(spec);
    const CommandEnd end = command.finish(std::chrono::seconds(600));
    ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  }
};

TEST_F(Installed, ExampleOutsideTheTree_BuildsAndRuns) {
  const std::string prefix = scratch_.path() / "prefix";
  const std::string build = scratch_.path() / "build";
  const std::string place = scratch_.path() / "place";
  ASSERT_NO_FATAL_FAILURE(succeed({CLOCHE_CMAKE, "--install", CLOCHE_BUILD_DIR, "--prefix", prefix}));
  ASSERT_NO_FATAL_FAILURE(
      succeed({CLOCHE_CMAKE, "-S", CLOCHE_EXAMPLES "/embed", "-B", build, "-G", "Ninja",
               "-DCMAKE_PREFIX_PATH=" + prefix, std::string("-DCMAKE_CXX_COMPILER=") + CLOCHE_CXX}));
  ASSERT_NO_FATAL_FAILURE(succeed({CLOCHE_CMAKE, "--build", build}));

  const CommandEnd blocking = run_command({.argv = {build + "/embed", place}});
  EXPECT_EQ(blocking.exit_code, 0) << blocking.err;
  EXPECT_EQ(blocking.out,
            "a program prints 42\n"
            "a program fails with exit code 3 and says oh no\n"
            "an endless one ends at its wall_limit\n"
            "a file holds 15 bytes:\n"
            "bread\nmilk\ntea\n"
            "notes/list.txt, line 3: tea\n"
            "a path that leads out is refused\n");

  const CommandEnd coroutines = run_command({.argv = {build + "/embed_coroutines", place}});
  EXPECT_EQ(coroutines.exit_code, 0) << coroutines.err;
  EXPECT_EQ(coroutines.out,
            "asked  1 2 3\nheard  6\n"
            "asked  40 2\nheard  42\n"
            "beside the root has a workspace\n"
            "ended  exited\n");

  const CommandEnd program = run_command({.argv = {prefix + "/bin/cloche", "--version"}});
  EXPECT_EQ(program.exit_code, 0);
}

}  // namespace
}  // namespace cloche
