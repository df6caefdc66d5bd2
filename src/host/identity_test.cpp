// Identities, the registry of owners, and the directory of an instance: ownership and liveness.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/ids.hpp"
#include "host/abandoned.hpp"
#include "host/ephemeral_instance.hpp"
#include "host/identity_file.hpp"
#include "host/instance_dir.hpp"
#include "host/owner_registry.hpp"
#include "support/missing.hpp"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class Identities : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(here_); }
  void TearDown() override { fs::remove_all(here_); }

  std::string make(const std::string& name) const {
    fs::create_directories(here_ / name);
    return here_ / name;
  }
  EngineOptions options(const std::string& state, const std::string& run = "run") const {
    EngineOptions options;
    options.state_dir = here_ / state;
    options.run_dir = here_ / run;
    options.instance = "default";
    return options;
  }
  // Runs `first` in a process of its own that is killed while it is alive, and `meanwhile` in this one before that.
  static void with_other_process(const std::function<bool()>& first, const std::function<void(pid_t)>& meanwhile) {
    std::array<int, 2> report{};
    ASSERT_EQ(::pipe(report.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const char answer = first() ? 'y' : 'n';
      if (::write(report[1], &answer, 1) == 1) ::pause();
      ::_exit(1);
    }
    ::close(report[1]);
    char answer = 0;
    EXPECT_EQ(::read(report[0], &answer, 1), 1);
    ::close(report[0]);
    EXPECT_EQ(answer, 'y');
    meanwhile(child);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  fs::path here_ = fs::temp_directory_path() / ("cloche-identity-" + random_hex(6));
};

TEST_F(Identities, FirstUse_MakesAnIdThatStays) {
  const std::string place = make("a");
  const auto id = ensure_identity(place);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(is_owner_id(*id));
  EXPECT_EQ(ensure_identity(place).value(), *id);
  EXPECT_EQ(identity_in(place), *id);
  struct stat about{};
  ASSERT_EQ(::stat((place + "/identity").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  EXPECT_NE(ensure_identity(make("b")).value(), *id);
}

TEST_F(Identities, CopyOfADirectory_IsRefusedWithWhatToDo) {
  const std::string place = make("a");
  ASSERT_TRUE(ensure_identity(place));
  fs::copy(place, here_ / "copy", fs::copy_options::recursive);
  const auto refused = ensure_identity(here_ / "copy");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("is a copy of " + place), HasSubstr("Remove")));
  fs::remove_all(here_ / "copy");
  EXPECT_TRUE(ensure_identity(make("copy")));
}

TEST_F(Identities, DirectoryThatWasMoved_KeepsItsId) {
  const std::string place = make("a");
  const std::string id = ensure_identity(place).value();
  fs::rename(place, here_ / "b");
  EXPECT_EQ(ensure_identity(here_ / "b").value(), id);
  EXPECT_NE(ensure_identity(make("a")).value(), id);
  EXPECT_EQ(ensure_identity(here_ / "b").value(), id) << "it is at home there now";
}

TEST_F(Identities, OneDirectoryByTwoPaths_IsNoCopy) {
  const std::string place = make("a");
  const std::string id = ensure_identity(place).value();
  fs::create_directory_symlink(place, here_ / "link");
  EXPECT_EQ(ensure_identity(here_ / "link").value(), id);
}

TEST_F(Identities, DamagedFile_IsSaidAndNotReplaced) {
  const std::string place = make("a");
  std::ofstream(place + "/identity") << "{\"id\": \"../../x\"}";
  const auto refused = ensure_identity(place);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is damaged"));
  EXPECT_EQ(identity_in(place), std::nullopt);
}

TEST_F(Identities, OwnerWhoseProcessLives_CannotBeAnotherAsWell) {
  const OwnerRegistry registry(here_ / "owners");
  std::optional<OwnerLock> kept;
  with_other_process(
      [&] {
        auto held = registry.hold({"id1", "n", "oci", "", "/state", "/run"});
        if (held) kept = std::move(*held);
        return kept.has_value();
      },
      [](pid_t) {});
  with_other_process(
      [&] {
        auto held = registry.hold({"id2", "n", "oci", "", "/state/x", "/run"});
        if (held) kept = std::move(*held);
        return kept.has_value();
      },
      [&](pid_t other) {
        EXPECT_TRUE(registry.is_alive("id2"));
        EXPECT_FALSE(registry.take_over("id2"));
        const auto refused = registry.hold({"id2", "n", "oci", "", "/state/y", "/run"});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
        EXPECT_THAT(refused.error().message, AllOf(HasSubstr(std::to_string(other)), HasSubstr("/state/x")));
      });
  EXPECT_FALSE(registry.is_alive("id2")) << "it was killed";
  EXPECT_THAT(*registry.entries(), SizeIs(2)) << "what it may have left is not forgotten";
  auto mine = registry.hold({"id2", "n", "oci", "", "/state/y", "/run"});
  ASSERT_TRUE(mine) << mine.error().message;
  EXPECT_EQ(registry.find("id2")->state, "/state/y");
  mine->release();
  EXPECT_FALSE(registry.find("id2"));
  auto other = registry.take_over("id1");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->entry().name, "n");
  other->release();
  EXPECT_FALSE(fs::exists(here_ / "owners")) << "the last one takes the directory with it";
}

class Instances : public Identities {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "the registry of the host is root's");
    Identities::SetUp();
  }
};

TEST_F(Instances, SameNameInTwoStateDirectories_AreTwoOwners) {
  auto one = InstanceDir::claim(options("a"));
  auto other = InstanceDir::claim(options("b"));
  ASSERT_TRUE(one && other);
  EXPECT_NE((*one)->id().value, (*other)->id().value);
  EXPECT_EQ((*one)->id().name, "default");
  (*one)->leave_nothing();
  (*other)->leave_nothing();
}

TEST_F(Instances, HolderThatMadeNothing_IsForgotten) {
  const OwnerRegistry registry = OwnerRegistry::of_host(options("a"));
  std::string id;
  for (const bool makes : {false, true, false}) {
    auto held = InstanceDir::claim(options("a"));
    ASSERT_TRUE(held) << held.error().message;
    id = (*held)->id().value;
    if (makes) (*held)->will_make();
    held->reset();
  }
  EXPECT_TRUE(registry.find(id)) << "what one before it may have left is not forgotten";
  registry.take_over(id)->release();
  EXPECT_TRUE(InstanceDir::claim(options("a")));
  EXPECT_FALSE(registry.find(id));
}

TEST_F(Instances, SecondHolder_IsRefusedAndToldWhoHasIt) {
  auto first = InstanceDir::claim(options("a"));
  ASSERT_TRUE(first) << first.error().message;
  const auto second = InstanceDir::claim(options("a", "another-run"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::already_exists);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("in use by process " + std::to_string(::getpid())), HasSubstr("choose another")));
  (*first)->leave_nothing();
}

TEST_F(Instances, CopyWhoseOriginalIsOutOfSight_IsRefusedWhileTheOriginalLives) {
  std::string id;
  {
    auto first = InstanceDir::claim(options("a"));
    ASSERT_TRUE(first) << first.error().message;
    id = (*first)->id().value;
    // As in another mount namespace: the path in the file does not exist.
    const fs::path copy = here_ / "b/instances/oci/default";
    fs::create_directories(copy);
    std::ofstream(copy / "identity") << "{\"id\":\"" << id << "\",\"path\":\"/nowhere\"}";
    const auto second = InstanceDir::claim(options("b"));
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message,
                AllOf(HasSubstr("is a copy"), HasSubstr("process " + std::to_string(::getpid()))));
    (*first)->leave_nothing();
  }
  auto again = InstanceDir::claim(options("b"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->id().value, id);
  (*again)->leave_nothing();
}

TEST_F(Instances, PassingOfAKilledProcess_IsFoundByTheSameRunDirectoryAlone) {
  EngineOptions ephemeral = options("a");
  ephemeral.instance.clear();
  std::unique_ptr<EphemeralInstance> kept;
  with_other_process(
      [&] {
        auto made = EphemeralInstance::claim(ephemeral);
        if (made) kept = std::move(*made);
        return kept != nullptr;
      },
      [&](pid_t) { EXPECT_THAT(find_abandoned_ephemeral(ephemeral), SizeIs(0)); });
  EXPECT_THAT(find_abandoned_ephemeral(options("a", "another-run")), SizeIs(0));
  auto found = find_abandoned_ephemeral(ephemeral);
  ASSERT_THAT(found, SizeIs(1));
  found[0].release();
  EXPECT_THAT(find_abandoned_ephemeral(ephemeral), SizeIs(0));
}

TEST_F(Identities, SearchForLeftovers_CreatesNothing) {
  const EngineOptions nowhere = options("no-state", "no-run");
  const auto found = find_leftovers(nowhere);
  EXPECT_TRUE(found) << found.error().message;
  EXPECT_FALSE(fs::exists(nowhere.state_dir));
  EXPECT_FALSE(fs::exists(nowhere.run_dir));
}

}  // namespace
}  // namespace cloche
