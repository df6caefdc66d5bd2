// Attacks on the server's hand: files that change into links, pipes and worse while it reads, lists, packs, removes, or
// looks for artifacts. The programs are files/swap.c, traps.py, names.py, deep.c and links.py; what each would do to a
// naive server is shown in the suite WeakenedHand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hostile/sandbox/place.hpp"
#include "hostile/sandbox/weak_place.hpp"
#include "session/runs/artifacts.hpp"
#include "support/missing.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing_support::Target;

namespace {

const std::string workspace = "/workspace";

// Starts the program and returns once it has said its first word.
Task<std::unique_ptr<Exec>> start(Place& place, LiveSandbox& sandbox, std::vector<std::string> argv) {
  ExecSpec spec;
  spec.argv = command_of(argv);
  spec.env = place.stage().environment();
  spec.wall_limit = 60s;
  auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
  EXPECT_TRUE(started) << started.error().message;
  if (!started) co_return nullptr;
  auto word = co_await (*started)->next(Deadline::after(60s));
  const bool spoke = word && std::holds_alternative<Output>(*word) && std::get<Output>(*word).bytes.starts_with("HELD");
  EXPECT_TRUE(spoke) << "the program did not begin";
  co_return std::move(*started);
}

Task<> run_to_its_end(Place& place, LiveSandbox& sandbox, std::vector<std::string> argv) {
  auto ran = co_await place.exec(sandbox, std::move(argv), ExecSpec());
  EXPECT_TRUE(ran) << ran.error().message;
  if (!ran) co_return;
  EXPECT_TRUE(verdict_of(ran->out).done) << ran->out << ran->err;
  EXPECT_TRUE(verdict_of(ran->out).holes.empty()) << ran->out;
}

}  // namespace

class HostileHand : public testing::TestWithParam<Target> {
 protected:
  static void TearDownTestSuite() { leave_all_places(); }

  void SetUp() override {
    if (const auto lack = testing_support::lack_of(GetParam())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  }

  void in_sandbox(std::function<Task<>(Place&, LiveSandbox&)> body) {
    Place& place = place_of(GetParam());
    place.run([&]() -> Task<> {
      LiveSandbox* sandbox = co_await place.sandbox();
      if (sandbox == nullptr) co_return;
      co_await body(place, *sandbox);
      co_await place.expect_unharmed(Place::Loss::is_a_failure);
    });
  }

  // How often an operation is tried against a race: as often as it takes to lose one, where it can be lost.
  int rounds() const { return GetParam().is_gvisor() ? 15 : 150; }
};

// tries: files/swap.c. must: what is read beneath the workspace is of the workspace.
TEST_P(HostileHand, DirectorySwappedForALink_IsNeverReadThrough) {
  in_sandbox([this](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/swap", "directory"};
    const auto swapping = co_await start(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    int read = 0;
    for (int i = 0; i < rounds(); ++i) {
      FilePath path = FilePath::beneath(workspace, "race/file");
      FileRange all;
      auto got = co_await files.read(std::move(path), all, mib(1), Deadline::after(30s));
      if (!got) continue;
      ++read;
      EXPECT_EQ(got->bytes, "inside\n");
    }
    EXPECT_GT(read, 0) << "every read was refused";
    if (swapping) swapping->stop();
  });
}

// tries: files/swap.c. must: the same where the last name is swapped.
TEST_P(HostileHand, FileSwappedForALink_IsNeverReadThrough) {
  in_sandbox([this](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/swap", "file"};
    const auto swapping = co_await start(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    for (int i = 0; i < rounds(); ++i) {
      FilePath path = FilePath::beneath(workspace, "race/file");
      FileRange all;
      auto got = co_await files.read(std::move(path), all, mib(1), Deadline::after(30s));
      if (got) {
        EXPECT_EQ(got->bytes, "inside\n");
      }
    }
    if (swapping) swapping->stop();
  });
}

// tries: files/swap.c. must: what is written or removed beneath the workspace changes nothing outside.
TEST_P(HostileHand, DirectorySwappedForALink_IsNeverWrittenThrough) {
  in_sandbox([this](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/swap", "directory"};
    const auto swapping = co_await start(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    for (int i = 0; i < rounds(); ++i) {
      FilePath path = FilePath::beneath(workspace, "race/new" + std::to_string(i));
      (void)co_await files.write(path, "x", WriteOptions(), Deadline::after(30s));
      if (i % 2 == 0) (void)co_await files.remove(path, Recursion::whole_tree, Missing::fine, Deadline::after(30s));
    }
    if (swapping) swapping->stop();
    auto outside = co_await files.list("/tmp/outside", Recursion::whole_tree, Deadline::after(30s));
    EXPECT_TRUE(outside) << outside.error().message;
    if (!outside) co_return;
    for (const auto& entry : outside->entries) EXPECT_THAT(entry.path, HasSubstr("file"));
  });
}

// tries: files/swap.c. must: neither a packed tree nor an artifact holds what is outside.
TEST_P(HostileHand, DirectorySwappedForALink_IsNeverPackedNorAnArtifact) {
  in_sandbox([this](Place& place, LiveSandbox& sandbox) -> Task<> {
    const ChangeRules rules;
    auto mark = co_await session::WorkspaceMark::take(sandbox, workspace, rules, Deadline::after(30s));
    EXPECT_TRUE(mark) << mark.error().message;
    if (!mark) co_return;
    std::vector<std::string> argv{"files/swap", "file"};
    const auto swapping = co_await start(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    for (int i = 0; i < rounds() / 5; ++i) {
      std::string packed;
      Files::Sink sink = [&packed](std::string bytes) -> Task<Status> {
        packed += bytes;
        co_return Status{};
      };
      (void)co_await files.pack(workspace, sink, Deadline::after(30s));
      EXPECT_THAT(packed, Not(HasSubstr("outside\n"))) << "a file outside was packed";
      session::ArtifactCaps caps;
      const std::string nothing_to_discard;
      auto found = co_await mark->changes(sandbox, caps, nothing_to_discard, Deadline::after(30s));
      if (!found) continue;
      // "inside\n" has seven bytes, and "outside\n" eight.
      for (const auto& artifact : found->artifacts) EXPECT_NE(artifact.size, 8U) << artifact.path;
    }
    if (swapping) swapping->stop();
  });
}

// tries: files/traps.py. must: artifacts are found promptly, plain files alone.
TEST_P(HostileHand, TrapsForArtifacts_KeepNobodyWaiting) {
  in_sandbox([](Place& place, LiveSandbox& sandbox) -> Task<> {
    const ChangeRules rules;
    auto mark = co_await session::WorkspaceMark::take(sandbox, workspace, rules, Deadline::after(30s));
    EXPECT_TRUE(mark) << mark.error().message;
    if (!mark) co_return;
    std::vector<std::string> argv{"files/traps.py"};
    co_await run_to_its_end(place, sandbox, std::move(argv));
    session::ArtifactCaps caps;
    caps.most = 50;
    const std::string nothing_to_discard;
    auto found = co_await mark->changes(sandbox, caps, nothing_to_discard, Deadline::after(60s));
    EXPECT_TRUE(found) << found.error().message;
    if (!found) co_return;
    EXPECT_LE(found->artifacts.size(), 50U);
    EXPECT_GT(found->left_out, 200U);
    for (const auto& artifact : found->artifacts) {
      for (const char* trap : {"pipe", "socket", "passwd", "memory", "zero", "root", "loop", "stdin"})
        EXPECT_NE(artifact.path, trap);
    }
    auto files = sandbox.files();
    for (const char* trap : {"pipe", "socket", "zero", "memory", "passwd", "loop", "closed"}) {
      FilePath path = FilePath::beneath(workspace, trap);
      FileRange all;
      auto got = co_await files.read(std::move(path), all, mib(1), Deadline::after(20s));
      EXPECT_FALSE(got) << trap;
      if (!got) {
        EXPECT_NE(got.error().code, ErrorCode::timeout) << trap;
      }
    }
  });
}

// tries: files/names.py. must: each is listed as it is, and all can be removed.
TEST_P(HostileHand, NamesThatAreNoText_AreListedAndRemovedAsTheyAre) {
  in_sandbox([](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/names.py"};
    co_await run_to_its_end(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    auto listed = co_await files.list("/workspace/names", Recursion::none, Deadline::after(30s));
    EXPECT_TRUE(listed) << listed.error().message;
    if (!listed) co_return;
    EXPECT_EQ(listed->entries.size(), 10U);
    std::set<std::string> names;
    for (const auto& entry : listed->entries) names.insert(entry.path.substr(entry.path.rfind('/') + 1));
    EXPECT_TRUE(names.contains("a\nb"));
    EXPECT_TRUE(names.contains("\xff\xfe\xfd"));
    EXPECT_TRUE(names.contains(std::string(255, 'n')));
    auto removed =
        co_await files.remove("/workspace/names", Recursion::whole_tree, Missing::error, Deadline::after(30s));
    EXPECT_TRUE(removed) << removed.error().message;
  });
}

// tries: files/deep.c. must: a listing has an end, and the tree can be removed.
TEST_P(HostileHand, TreeDeeperThanAnyPath_IsListedWithinBoundsAndRemoved) {
  in_sandbox([](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/deep"};
    co_await run_to_its_end(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    // An error that says so, or a cut list: both are an answer.
    auto listed = co_await files.list("/workspace/deep", Recursion::whole_tree, Deadline::after(60s));
    if (!listed) {
      EXPECT_NE(listed.error().code, ErrorCode::timeout) << listed.error().message;
      EXPECT_NE(listed.error().code, ErrorCode::sandbox_lost) << listed.error().message;
    }
    auto removed =
        co_await files.remove("/workspace/deep", Recursion::whole_tree, Missing::error, Deadline::after(60s));
    EXPECT_TRUE(removed) << removed.error().message;
  });
}

// tries: files/links.py. must: no operation beneath the workspace follows one of them out.
TEST_P(HostileHand, LinksPlantedInTheWorkspace_LeadNobodyOut) {
  in_sandbox([](Place& place, LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> argv{"files/links.py"};
    co_await run_to_its_end(place, sandbox, std::move(argv));
    auto files = sandbox.files();
    for (const char* link :
         {"absolute", "relative", "chain", "directory/file", "magic", "agent", "up/up/up/tmp/outside/file"}) {
      FilePath path = FilePath::beneath(workspace, std::string("links/") + link);
      FileRange all;
      auto got = co_await files.read(path, all, mib(1), Deadline::after(20s));
      EXPECT_FALSE(got) << link << " led to " << got->bytes;
      if (std::string_view(link) == "directory/file") {
        (void)co_await files.remove(path, Recursion::whole_tree, Missing::fine, Deadline::after(20s));
      }
    }
    FilePath planted = FilePath::beneath(workspace, "links/directory/planted");
    auto written = co_await files.write(planted, "x", WriteOptions(), Deadline::after(20s));
    EXPECT_FALSE(written);
    auto whole = co_await files.remove("/workspace/links", Recursion::whole_tree, Missing::error, Deadline::after(20s));
    EXPECT_TRUE(whole) << whole.error().message;
    FileRange all;
    auto outside = co_await files.read("/tmp/outside/file", all, mib(1), Deadline::after(20s));
    EXPECT_TRUE(outside && outside->bytes == "outside\n") << "what is outside was changed";
  });
}

INSTANTIATE_TEST_SUITE_P(Files, HostileHand, testing::ValuesIn(walled_targets()),
                         [](const auto& target) { return target.param.name(); });

// The same programs against a server that opens by name, opens all it finds, lists by lines and walks by path.
class WeakenedHand : public testing::TestWithParam<Attack> {};

TEST_P(WeakenedHand, HasAHole) {
  const Target target{"oci", "crun"};
  if (const auto lack = testing_support::lack_of(target)) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  const WeakEnd end = run_in_weak_place(GetParam());
  EXPECT_FALSE(verdict_of(end.out).holes.empty()) << end.out << end.err;
}

INSTANTIATE_TEST_SUITE_P(
    Files, WeakenedHand,
    testing::Values(
        Attack{.name = "DirectorySwapped", .argv = {"files/swap", "directory"}, .weak = {.naive = "opens_by_name"}},
        Attack{.name = "FileSwapped", .argv = {"files/swap", "file"}, .weak = {.naive = "opens_by_name"}},
        Attack{.name = "Traps", .argv = {"files/traps.py"}, .weak = {.naive = "opens_all"}},
        Attack{.name = "Links", .argv = {"files/links.py"}, .weak = {.naive = "follows"}},
        Attack{.name = "Names", .argv = {"files/names.py"}, .weak = {.naive = "by_lines"}},
        Attack{.name = "DeepTree", .argv = {"files/deep"}, .weak = {.naive = "by_path"}}),
    [](const auto& attack) { return attack.param.name; });

}  // namespace cloche::hostile
