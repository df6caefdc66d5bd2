// Shared parts of the tests of file operations: a directory, requests with content in and out, and the two modes (with
// Linux's features, and as on gVisor) in which every operation must behave the same.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "agent/files/file_request.hpp"
#include "agent/files/operations/abilities.hpp"
#include "support/result_matchers.hpp"

namespace cloche::agent::testing {

using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;

struct Answer {
  Status status;
  std::vector<wire::FileReply> replies;
  std::string out;

  const wire::FileReply& last() const { return replies.back(); }
  // In all replies.
  std::vector<wire::FileEntry> entries() const;
  std::vector<std::string> paths() const;
  std::vector<wire::GrepMatch> matches() const;
};

// Does the request in this process.
Answer run(const wire::FileRequest& request, std::string_view content = {});
// Content from any descriptor.
Answer run_from(const wire::FileRequest& request, int in);
// In a forked process with effective ids 1000, like the agent's workers. Requires root.
Answer run_as_user(const wire::FileRequest& request, std::string_view content = {});

// In a forked process; true when `work` returned true there.
bool in_child(const std::function<bool()>& work);

constexpr unsigned user_id = 1000;

bool is_root();

// A directory for each test, open to the user, removed afterwards.
class FileTest : public ::testing::Test {
 public:
  FileTest();
  ~FileTest() override;

 protected:
  std::string at(std::string_view path) const { return directory_ + "/" + std::string(path); }
  void put(std::string_view path, std::string_view content = "") const;
  std::string get(std::string_view path) const;
  void make(std::string_view path) const;
  void link(std::string_view target, std::string_view path) const;
  bool exists(std::string_view path) const;  // links not followed
  unsigned mode(std::string_view path) const;
  std::vector<std::string> names(std::string_view path = ".") const;
  // `levels` directories one in the other, all called `name`, each with a file `f` when asked; from the test's
  // directory.
  void make_deep(int levels, const char* name, bool with_files) const;

  // A request on a path beneath the test's directory.
  wire::FileRequest beneath(wire::FileOp op, std::string_view path) const;

  std::string directory_;
};

enum class Way { linux_calls, plain_calls };

class BothWays : public FileTest, public ::testing::WithParamInterface<Way> {
 public:
  BothWays();
  ~BothWays() override;

 private:
  Abilities found_;
};

#define CLOCHE_BOTH_WAYS(Fixture)                                                                                \
  INSTANTIATE_TEST_SUITE_P(                                                                                      \
      Ways, Fixture,                                                                                             \
      ::testing::Values(::cloche::agent::testing::Way::linux_calls, ::cloche::agent::testing::Way::plain_calls), \
      [](const auto& way_info) {                                                                                 \
        return way_info.param == ::cloche::agent::testing::Way::linux_calls ? "Linux" : "Plain";                 \
      })

// A mounted tmpfs of this size, unmounted afterwards. Check ok(): mounting needs root.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* options);
  ~SmallDisk();
  bool ok() const { return ok_; }

 private:
  std::string path_;
  bool ok_;
};

// Descriptor of a file without a name, of this size, all zeros.
int zeros(std::uint64_t size);

}  // namespace cloche::agent::testing
