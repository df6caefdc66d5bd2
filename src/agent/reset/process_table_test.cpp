#include "agent/reset/process_table.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace cloche::agent {
namespace {

bool contains(const std::vector<ProcessRow>& rows, pid_t pid) {
  return std::ranges::any_of(rows, [pid](const ProcessRow& row) { return row.pid == pid; });
}

TEST(ProcessTable, Child_IsADescendant) {
  const pid_t child = ::fork();
  if (child == 0) {
    // A name that could be mistaken for the fields behind it.
    ::prctl(PR_SET_NAME, ") R 1 (x", 0, 0, 0);
    ::pause();
    ::_exit(0);
  }
  const auto table = read_process_table();
  EXPECT_TRUE(contains(descendants(table, ::getpid()), child));
  EXPECT_FALSE(contains(descendants(table, ::getpid()), ::getpid()));
  EXPECT_FALSE(contains(descendants(table, child), child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Descendants, TreeOfRows_IsFoundWhole) {
  const std::vector<ProcessRow> table{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 1}};
  EXPECT_EQ(descendants(table, 2).size(), 2u);
  EXPECT_EQ(descendants(table, 1).size(), 4u);
  EXPECT_TRUE(descendants(table, 4).empty());
}

}  // namespace
}  // namespace cloche::agent
