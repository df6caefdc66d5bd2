#include "images/tool.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace cloche::images {
namespace {

using namespace std::chrono_literals;

ToolSpec shell(const std::string& script) {
  ToolSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = plain_environment();
  return spec;
}

CancelToken watch_of(Deadline::Clock::duration span) { return CancelToken(Deadline::after(span)); }

TEST(Tool, Lines_ArriveOneByOneWithTheExitCode) {
  std::vector<std::string> lines;
  const auto code = run_lines(
      shell("echo one; echo two >&2; printf three; exit 7"), [&](std::string_view line) { lines.emplace_back(line); },
      watch_of(30s));
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 7);
  EXPECT_THAT(lines, testing::UnorderedElementsAre("one", "two", "three"));
}

TEST(Tool, Input_IsItsStdin) {
  ToolSpec spec = shell("cat");
  spec.input = "a\nb";
  EXPECT_EQ(output_of(spec, watch_of(30s)).value(), "a\nb");
}

TEST(Tool, Failure_CarriesWhatItSaid) {
  ToolSpec spec = shell("echo no such thing >&2; exit 3");
  spec.errors = ToolSpec::Errors::apart;
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().message, testing::HasSubstr("no such thing"));
}

TEST(Tool, UnknownProgram_IsNotFound) {
  ToolSpec spec;
  spec.argv = {"no-such-program-here"};
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::not_found);
}

TEST(Tool, Deadline_KillsItWithItsChildren) {
  std::string child;
  const auto line = [&](std::string_view text) { child = text; };
  const auto code = run_lines(shell("sleep 100 & echo $!; wait"), line, watch_of(2s));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::timeout);
  ASSERT_FALSE(child.empty());
  // Killed, and perhaps not reaped yet by process 1: the root of a zombie cannot be read.
  const std::string root = "/proc/" + child + "/root";
  EXPECT_TRUE(testing_support::eventually([&] { return ::access(root.c_str(), F_OK) != 0; }));
}

TEST(Tool, AbandonedWatch_EndsIt) {
  const CancelToken token = watch_of(60s);
  std::thread other([&] { token.cancel(); });
  const auto code = run_lines(shell("sleep 100"), [](std::string_view) {}, token);
  other.join();
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::cancelled);
}

TEST(Tool, BehindWalls_IsTheFirstProcessThere) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  ToolSpec spec = shell("echo $$");
  spec.isolation = ToolSpec::Isolation::own_processes_and_mounts;
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "1\n");
}

}  // namespace
}  // namespace cloche::images
