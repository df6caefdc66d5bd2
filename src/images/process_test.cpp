#include "images/process.hpp"
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

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = plain_environment();
  return spec;
}

oci::CancelToken watch_of(Deadline::Clock::duration span) { return oci::CancelToken(Deadline::after(span)); }

TEST(Process, Lines_ArriveOneByOneWithTheExitCode) {
  std::vector<std::string> lines;
  const auto code = run_lines(
      shell("echo one; echo two >&2; printf three; exit 7"), [&](std::string_view line) { lines.emplace_back(line); },
      watch_of(30s));
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 7);
  EXPECT_THAT(lines, testing::UnorderedElementsAre("one", "two", "three"));
}

TEST(Process, Input_IsItsStdin) {
  ProcessSpec spec = shell("cat");
  spec.input = "a\nb";
  EXPECT_EQ(output_of(spec, watch_of(30s)).value(), "a\nb");
}

TEST(Process, Failure_CarriesWhatItSaid) {
  ProcessSpec spec = shell("echo no such thing >&2; exit 3");
  spec.errors = ProcessSpec::Errors::apart;
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().message, testing::HasSubstr("no such thing"));
}

TEST(Process, UnknownProgram_IsNotFound) {
  ProcessSpec spec;
  spec.argv = {"no-such-program-here"};
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, ErrorCode::not_found);
}

TEST(Process, Deadline_KillsItWithItsChildren) {
  std::string child;
  const auto line = [&](std::string_view text) { child = text; };
  const auto code = run_lines(shell("sleep 100 & echo $!; wait"), line, watch_of(300ms));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::timeout);
  ASSERT_FALSE(child.empty());
  // Killed, and perhaps not reaped yet by process 1.
  const pid_t pid = std::stoi(child);
  for (int i = 0; i < 200 && ::kill(pid, 0) == 0; ++i) {
    std::string state;
    if (FILE* file = std::fopen(("/proc/" + child + "/stat").c_str(), "r")) {
      char name[64] = {};
      char letter = 0;
      if (std::fscanf(file, "%*d %63s %c", name, &letter) == 2) state = letter;
      std::fclose(file);
    }
    if (state == "Z" || state.empty()) return;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Process, AbandonedWatch_EndsIt) {
  const oci::CancelToken token = watch_of(60s);
  std::thread other([&] { token.cancel(); });
  const auto code = run_lines(shell("sleep 100"), [](std::string_view) {}, token);
  other.join();
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::cancelled);
}

TEST(Process, BehindWalls_IsTheFirstProcessThere) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  ProcessSpec spec = shell("echo $$");
  spec.walls = ProcessSpec::Walls::own_processes_and_mounts;
  const auto output = output_of(spec, watch_of(30s));
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "1\n");
}

}  // namespace
}  // namespace cloche::images
