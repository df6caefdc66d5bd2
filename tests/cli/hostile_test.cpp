// Commands against a service that means harm: the terminal, the host's files and this process stay whole.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/cli.hpp"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::Not;

class CliHostile : public Cli {
 protected:
  void SetUp() override {
    fs::create_directories(here());
    source("outside", "mine");
  }

  // A command, and a service that answers in this way.
  CommandEnd ask(const std::string& how, std::vector<std::string> arguments) const {
    const std::string socket = scratch_.path() / ("socket-" + how);
    fs::remove(socket);
    CommandSpec serve;
    serve.argv = {"/usr/bin/python3", "-B", CLOCHE_HOSTILE_SERVICE, how, socket};
    Command service(serve);
    EXPECT_TRUE(service.wait_for("listening"));
    CommandSpec spec = cloche(std::move(arguments));
    spec.env["CLOCHE_SERVER"] = "unix:" + socket;
    spec.env["CLOCHE_TOKEN"] = "";
    spec.directory = here();
    return run_command(spec);
  }

  fs::path here() const { return scratch_.path() / "here"; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(here())) all.push_back(entry.path().filename());
    return all;
  }
};

TEST_F(CliHostile, WordsForTheTerminal_AreOnlyWords) {
  const CommandEnd error = ask("error", {"pools"});
  EXPECT_EQ(error.exit_code, 70);
  EXPECT_THAT(error.err, HasSubstr("?]0;owned??[2Jx"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"sessions", "list"}, {"pools"}, {"top"}, {"complete", "--", "logs", ""}}) {
    const CommandEnd end = ask("names", command);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.out + end.err, Not(HasSubstr("\033")));
    EXPECT_THAT(end.out, HasSubstr("?[2Jx"));
  }
}

TEST_F(CliHostile, WhatIsNoHttp_IsRefused) {
  for (const char* how : {"garbage", "endless-head"}) {
    const CommandEnd end = ask(how, {"exec", "demo", "ls"});
    EXPECT_EQ(end.exit_code, 70) << end.err;
    EXPECT_THAT(end.err, Not(HasSubstr("\033")));
    EXPECT_THAT(end.out, IsEmpty());
  }
}

TEST_F(CliHostile, Archives_WriteNothingOutside) {
  for (const char* how : {"up", "absolute", "link", "hardlink", "cut"}) {
    const CommandEnd end = ask(how, {"sessions", "cp", "demo:d", "to"});
    EXPECT_NE(end.exit_code, 0) << how;
    EXPECT_THAT(end.err, Not(IsEmpty())) << how;
    EXPECT_THAT(names(), IsEmpty()) << how;
    EXPECT_FALSE(fs::exists("/tmp/cloche-evil"));
    std::ifstream outside(scratch_.path() / "outside");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(outside), {}), "mine") << how;
  }
  EXPECT_EQ(ask("whole", {"sessions", "cp", "demo:d", "to"}).exit_code, 0) << "a good one is taken";
  EXPECT_EQ(fs::file_size(here() / "to" / "good"), 100'000u);
}

}  // namespace
}  // namespace cloche
