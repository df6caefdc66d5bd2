// `cloche bench`, on a row that takes a few seconds: there is a table, and what is missing on this host is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/command.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

using testing::HasSubstr;
using testing_support::CommandEnd;

// No engine, so that it is quick, and so that there is something to be named.
CommandEnd bench(std::vector<std::string> arguments) {
  testing_support::CommandSpec spec;
  spec.argv = {CLOCHE_PROGRAM, "bench", "--quick", "--docker-host", "unix:///nowhere/docker.sock"};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  return testing_support::run_command(spec);
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

class BenchCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of({"oci", "crun"})) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }
};

TEST_F(BenchCommand, TwoRows_GiveATableGoalsAndPlots) {
  const testing_support::Scratch scratch;
  const CommandEnd end = bench({"--rows", "claim,files", "--out", scratch.path() / "out"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("### Claim and release"));
  EXPECT_THAT(end.out, HasSubstr("| oci/crun, cycle | "));
  EXPECT_THAT(end.out, HasSubstr("| 1,000 files, grep, one match | "));
  EXPECT_THAT(end.out, HasSubstr("p99 below 5 ms"));
  EXPECT_THAT(content_of(scratch.path() / "out/table.md"), HasSubstr("](files.svg)"));
  EXPECT_TRUE(content_of(scratch.path() / "out/files.svg").ends_with("</svg>\n"));
}

TEST_F(BenchCommand, NoEngine_IsNamedInJson) {
  const CommandEnd end = bench({"--rows", "files", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const auto json = boost::json::parse(end.out);
  EXPECT_THAT(std::string(json.at("not_measured").at(0).at("thing").as_string()), "docker");
  EXPECT_TRUE(json.at("quick").as_bool());
  const auto& figures = json.at("sections").at(0).at("figures").as_array();
  ASSERT_FALSE(figures.empty());
  EXPECT_GE(figures[0].at("samples").as_int64(), 8);
}

TEST_F(BenchCommand, UnknownRow_IsRefused) {
  const CommandEnd end = bench({"--rows", "claim,nonsense"});
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("nonsense"));
}

TEST_F(BenchCommand, List_NamesRowsAndMeasuresNothing) {
  const CommandEnd end = bench({"--list"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out, HasSubstr("warm "));
  EXPECT_THAT(end.out, HasSubstr("bulk "));
}

}  // namespace
}  // namespace cloche
