// The store: what is shared, what is counted, and what a crash at each step leaves.
#include "snapshot/store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "archive/testing/tar_bytes.hpp"
#include "auth/testing/scratch.hpp"
#include "core/fault_point.hpp"
#include "snapshot/taking.hpp"
#include "support/result_matchers.hpp"

namespace cloche::snapshot {
namespace {

using namespace testing_support;  // tar_file and the like
namespace fs = std::filesystem;

std::string random_bytes(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (char& c : bytes) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>(seed >> 24);
  }
  return bytes;
}

class Snapshot : public testing::Test {
 public:
  ~Snapshot() override { (void)faults::set_faults(""); }

 protected:
  std::string directory() const { return scratch_ / "snapshots"; }
  std::shared_ptr<SnapshotStore> open_store(SnapshotOptions options = {}) const {
    options.directory = directory();
    options.least_free = Bytes{};
    auto store = std::make_shared<SnapshotStore>(options);
    EXPECT_THAT(store->open(), Succeeds());
    return store;
  }

  static Result<SnapshotInfo> take(SnapshotStore& store, const std::string& archive, const std::string& name = "",
                                   const Allowance& allowance = {}, const std::string& tenant = "acme",
                                   Manifest::Lifetime lifetime = Manifest::Lifetime::lasting) {
    CLOCHE_TRY(const auto taking,
               store.take({.tenant = tenant, .name = name, .session = "s1", .profile = "box", .lifetime = lifetime},
                          allowance));
    taking->begin(Place::work, {});
    CLOCHE_CHECK(taking->feed(archive));
    CLOCHE_CHECK(taking->end());
    taking->begin(Place::home, {});
    CLOCHE_CHECK(taking->feed(tar_file(".profile", "home") + tar_end()));
    CLOCHE_CHECK(taking->end());
    return taking->commit();
  }
  static Result<std::string> read(SnapshotStore& store, const std::string& which, const std::string& tenant = "acme") {
    CLOCHE_TRY(const auto reading, store.read(tenant, which));
    std::string all;
    for (const Place place : {Place::home, Place::work}) {
      for (;;) {
        CLOCHE_TRY(const std::string part, reading->next(place));
        if (part.empty()) break;
        all += part;
      }
    }
    return all;
  }

  std::vector<fs::path> files(const std::string& below, const std::string& tenant = "acme") const {
    std::vector<fs::path> found;
    const fs::path top = fs::path(directory()) / tenant / below;
    if (!fs::exists(top)) return found;
    for (const auto& each : fs::directory_iterator(top)) found.push_back(each.path());
    return found;
  }
  void expect_nothing() const {
    EXPECT_TRUE(files("pieces").empty());
    EXPECT_TRUE(files("manifests").empty());
  }

  // Runs it in another process, which dies at the point.
  static void die_at(const std::string& point, const std::function<void()>& work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)faults::set_faults(point + "=kill");
      work();
      ::_exit(7);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << point << " was not passed";
  }

  auth::testing::ScratchDir scratch_;
  const std::string large_ = random_bytes(3'000'000, 1);
  const std::string archive_ = tar_file("small", "text") + tar_file("large", large_) + tar_end();
};

TEST_F(Snapshot, Taken_IsListedFoundAndRead) {
  const auto store = open_store();
  const auto taken = take(*store, archive_, "before");
  ASSERT_THAT(taken, Succeeds());
  EXPECT_EQ(taken->files, 3U);
  EXPECT_EQ(taken->size.count, 4 + large_.size() + 4);
  ASSERT_EQ(store->list("acme").size(), 1U);
  EXPECT_EQ(store->find("acme", taken->id).value(), *taken);
  EXPECT_EQ(store->find("acme", "before").value(), *taken);
  const auto bytes = read(*store, "before");
  ASSERT_THAT(bytes, Succeeds());
  EXPECT_NE(bytes->find(large_.substr(0, 1000)), std::string::npos);
  EXPECT_TRUE(bytes->starts_with(tar_file(".profile", "home").substr(0, 8)));
}

TEST_F(Snapshot, AfterARestart_TheyAreThere) {
  const auto taken = take(*open_store(), archive_, "before").value();
  const auto store = open_store();
  EXPECT_EQ(store->find("acme", "before").value(), taken);
  EXPECT_THAT(read(*store, taken.id), Succeeds());
  EXPECT_THAT(take(*store, archive_, "before"), FailsWith(ErrorCode::already_exists));
}

TEST_F(Snapshot, SameContent_IsStoredAndCountedOnce) {
  const auto store = open_store();
  const auto first = take(*store, archive_).value();
  const Bytes stored = store->stored("acme");
  EXPECT_GE(stored.count, large_.size());
  const auto pieces = files("pieces").size();
  const auto second = take(*store, tar_file("other", "x") + archive_).value();
  EXPECT_LT(store->stored("acme").count, stored.count + 10'000);
  EXPECT_LE(files("pieces").size(), pieces + 1);
  ASSERT_THAT(store->remove("acme", first.id), Succeeds());
  EXPECT_THAT(read(*store, second.id), Succeeds());
  ASSERT_THAT(store->remove("acme", second.id), Succeeds());
  EXPECT_EQ(store->stored("acme").count, 0U);
  expect_nothing();
}

TEST_F(Snapshot, Tenants_ShareNothingAndSeeNothing) {
  const auto store = open_store();
  const auto theirs = take(*store, archive_, "treasure", {}, "acme").value();
  const auto mine = take(*store, archive_, "treasure", {}, "other").value();
  EXPECT_EQ(files("pieces", "other").size(), files("pieces", "acme").size());
  EXPECT_EQ(store->stored(std::nullopt).count, 2 * store->stored("acme").count);
  EXPECT_EQ(store->find("other", "treasure")->id, mine.id);
  for (const std::string& which : {theirs.id, std::string("absent"), std::string(), std::string("../acme/pieces")}) {
    EXPECT_THAT(store->find("other", which), FailsSaying(ErrorCode::not_found, "no such snapshot"));
    EXPECT_THAT(store->read("other", which), FailsSaying(ErrorCode::not_found, "no such snapshot"));
    EXPECT_THAT(store->remove("other", which), FailsSaying(ErrorCode::not_found, "no such snapshot"));
  }
  EXPECT_THAT(store->find("nowhere", theirs.id), FailsSaying(ErrorCode::not_found, "no such snapshot"));
  EXPECT_EQ(store->list("other").size(), 1U);
  EXPECT_EQ(store->list(std::nullopt).size(), 2U);
}

TEST_F(Snapshot, OverTheAllowance_IsRefusedAndLeavesNothing) {
  const auto store = open_store();
  EXPECT_THAT(take(*store, archive_, "", {.snapshots = 0}), FailsSaying(ErrorCode::limit_reached, "0 of 0"));
  EXPECT_THAT(take(*store, archive_, "", {.bytes = mib(1)}), FailsSaying(ErrorCode::limit_reached, "1 MiB"));
  expect_nothing();
  EXPECT_EQ(store->stored("acme").count, 0U);
  ASSERT_THAT(take(*store, archive_, "", {.snapshots = 1, .bytes = mib(4)}), Succeeds());
  // What is there already costs nothing.
  ASSERT_THAT(take(*store, archive_, "", {.snapshots = 2, .bytes = mib(4)}), Succeeds());
  EXPECT_THAT(take(*store, archive_, "", {.snapshots = 2}), FailsWith(ErrorCode::limit_reached));
  // One that does not last is not counted.
  EXPECT_THAT(take(*store, archive_, "", {.snapshots = 2}, "acme", Manifest::Lifetime::temporary), Succeeds());
}

TEST_F(Snapshot, BeyondTheLargestSize_IsRefusedAndLeavesNothing) {
  EXPECT_THAT(take(*open_store({.max_size = mib(2)}), archive_), FailsSaying(ErrorCode::limit_reached, "max_size"));
  EXPECT_THAT(take(*open_store({.max_entries = 1}), archive_), FailsWith(ErrorCode::limit_reached));
  expect_nothing();
}

TEST_F(Snapshot, AlmostFullDisk_IsRefusedAndLeavesNothing) {
  SnapshotOptions options;
  options.directory = directory();
  options.least_free = Bytes{UINT64_MAX / 2};
  const auto store = std::make_shared<SnapshotStore>(options);
  ASSERT_THAT(store->open(), Succeeds());
  EXPECT_THAT(take(*store, archive_), FailsSaying(ErrorCode::limit_reached, "almost full"));
  expect_nothing();
}

TEST_F(Snapshot, NameOfOneThatIsBeingTaken_IsTaken) {
  const auto store = open_store();
  auto first = store->take({.tenant = "acme", .name = "n", .session = "s"}, {});
  ASSERT_THAT(first, Succeeds());
  EXPECT_THAT(store->take({.tenant = "acme", .name = "n", .session = "s"}, {}), FailsWith(ErrorCode::already_exists));
  EXPECT_THAT(store->take({.tenant = "acme", .name = "m", .session = "s"}, {.snapshots = 1}),
              FailsWith(ErrorCode::limit_reached));
  first->reset();
  EXPECT_THAT(take(*store, archive_, "n", {.snapshots = 1}), Succeeds());
  EXPECT_THAT(take(*store, archive_, "a b"), FailsWith(ErrorCode::invalid_argument));
}

TEST_F(Snapshot, Committed_CountsOnceWhileItsMakerLives) {
  const auto store = open_store();
  const auto taking = store->take({.tenant = "acme", .name = "n", .session = "s"}, {}).value();
  taking->begin(Place::work, {});
  ASSERT_THAT(taking->feed(archive_), Succeeds());
  ASSERT_THAT(taking->end(), Succeeds());
  ASSERT_THAT(taking->commit(), Succeeds());
  EXPECT_THAT(take(*store, archive_, "m", {.snapshots = 2}), Succeeds());
  taking->abandon();
  EXPECT_THAT(read(*store, "m"), Succeeds());
  EXPECT_THAT(store->read("acme", "n"), Succeeds());
}

TEST_F(Snapshot, Abandoned_IsGoneAtOnce) {
  const auto store = open_store();
  const auto taking = store->take({.tenant = "acme", .name = "n", .session = "s"}, {}).value();
  taking->begin(Place::work, {});
  ASSERT_THAT(taking->feed(archive_), Succeeds());
  taking->abandon();
  EXPECT_EQ(store->stored("acme").count, 0U);
  expect_nothing();
  EXPECT_THAT(take(*store, archive_, "n", {.snapshots = 1}), Succeeds());
}

TEST_F(Snapshot, TemporaryOne_IsInNoListAndEndsWithTheProcess) {
  const auto store = open_store();
  const auto taken = take(*store, archive_, "", {}, "acme", Manifest::Lifetime::temporary).value();
  EXPECT_TRUE(store->list("acme").empty());
  EXPECT_THAT(store->find("acme", taken.id), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(read(*store, taken.id), Succeeds());
  const auto next = open_store();
  EXPECT_THAT(read(*next, taken.id), FailsWith(ErrorCode::not_found));
  expect_nothing();
}

TEST_F(Snapshot, RemovedWhileItIsRead_IsReadToItsEnd) {
  const auto store = open_store();
  const auto taken = take(*store, archive_).value();
  {
    const auto reading = store->read("acme", taken.id).value();
    ASSERT_THAT(store->remove("acme", taken.id), Succeeds());
    EXPECT_THAT(store->read("acme", taken.id), FailsWith(ErrorCode::not_found));
    for (;;) {
      const auto part = reading->next(Place::work);
      ASSERT_THAT(part, Succeeds());
      if (part->empty()) break;
    }
  }
  expect_nothing();
}

TEST_F(Snapshot, DamagedPiece_IsAnErrorAndNotData) {
  const auto store = open_store();
  const auto taken = take(*store, archive_).value();
  for (const fs::path& piece : files("pieces")) {
    std::fstream file(piece, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3);
    file.put('!');
  }
  EXPECT_THAT(read(*store, taken.id), FailsSaying(ErrorCode::internal, "damaged"));
  // One that is short is written again by the next snapshot with this content.
  for (const fs::path& piece : files("pieces")) fs::resize_file(piece, 1);
  const auto again = take(*store, archive_).value();
  EXPECT_THAT(read(*store, again.id), Succeeds());
  EXPECT_THAT(read(*store, taken.id), Succeeds());
}

TEST_F(Snapshot, MissingPiece_IsAnErrorAndTheSnapshotCanBeRemoved) {
  const auto taken = take(*open_store(), archive_).value();
  for (const fs::path& piece : files("pieces")) fs::remove(piece);
  const auto store = open_store();
  EXPECT_THAT(read(*store, taken.id), FailsWith(ErrorCode::internal));
  EXPECT_THAT(store->remove("acme", taken.id), Succeeds());
  EXPECT_EQ(store->stored("acme").count, 0U);
}

TEST_F(Snapshot, DamagedManifest_IsPutAside_AndOthersStay) {
  const auto bad = take(*open_store(), archive_).value();
  const auto good = take(*open_store(), tar_file("other", "x") + tar_end()).value();
  fs::resize_file(fs::path(directory()) / "acme/manifests" / bad.id, 50);
  const auto store = open_store();
  ASSERT_EQ(store->list("acme").size(), 1U);
  EXPECT_THAT(read(*store, good.id), Succeeds());
  EXPECT_THAT(read(*store, bad.id), FailsWith(ErrorCode::not_found));
  EXPECT_TRUE(fs::exists(fs::path(directory()) / "acme/manifests" / (bad.id + ".damaged")));
}

TEST_F(Snapshot, ManifestOfAnotherTenant_IsPutAside) {
  const auto theirs = take(*open_store(), archive_, "", {}, "other").value();
  (void)take(*open_store(), archive_);
  fs::copy(fs::path(directory()) / "other/manifests" / theirs.id, fs::path(directory()) / "acme/manifests" / theirs.id);
  const auto store = open_store();
  EXPECT_THAT(store->find("acme", theirs.id), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(store->find("other", theirs.id), Succeeds());
}

TEST_F(Snapshot, StepOfATakeThatThrows_LeavesNothing) {
  for (const char* point :
       {"snapshot.take.piece", "snapshot.take.piece:3", "snapshot.take.pieces", "snapshot.take.named"}) {
    const auto store = open_store();
    ASSERT_THAT(faults::set_faults(std::string(point) + "=throw"), Succeeds());
    EXPECT_THROW((void)take(*store, archive_, "n"), std::runtime_error) << point;
    ASSERT_THAT(faults::set_faults(""), Succeeds());
    EXPECT_EQ(store->stored("acme").count, 0U) << point;
    expect_nothing();
    EXPECT_THAT(take(*store, archive_, "n", {.snapshots = 1}), Succeeds()) << point;
    EXPECT_THAT(store->remove("acme", "n"), Succeeds()) << point;
  }
}

TEST_F(Snapshot, StepOfARemovalThatThrows_LosesNothing) {
  for (const char* point : {"snapshot.remove.begun", "snapshot.remove.unlinked", "snapshot.remove.done"}) {
    const auto store = open_store();
    const auto taken = take(*store, archive_).value();
    ASSERT_THAT(faults::set_faults(std::string(point) + "=throw"), Succeeds());
    EXPECT_THROW((void)store->remove("acme", taken.id), std::runtime_error) << point;
    ASSERT_THAT(faults::set_faults(""), Succeeds());
    (void)store->remove("acme", taken.id);
    EXPECT_EQ(store->stored("acme").count, 0U) << point;
    expect_nothing();
  }
}

TEST_F(Snapshot, KilledWhileTaking_TheNextStartRemovesWhatIsLeft) {
  const auto kept = take(*open_store(), tar_file("kept", large_) + tar_end()).value();
  for (const char* point : {"snapshot.take.piece", "snapshot.take.pieces"}) {
    die_at(point, [&] { (void)take(*open_store(), archive_, "n"); });
    const auto store = open_store();
    EXPECT_EQ(store->list("acme").size(), 1U) << point;
    EXPECT_THAT(read(*store, kept.id), Succeeds()) << point;
    const auto left = files("pieces").size();
    EXPECT_THAT(take(*store, archive_, "n"), Succeeds());
    EXPECT_THAT(store->remove("acme", "n"), Succeeds());
    EXPECT_EQ(files("pieces").size(), left) << point;
    EXPECT_EQ(files("manifests").size(), 1U) << point;
  }
  // It has its name: it is there, and whole.
  die_at("snapshot.take.named", [&] { (void)take(*open_store(), archive_, "n"); });
  EXPECT_THAT(read(*open_store(), "n"), Succeeds());
}

TEST_F(Snapshot, KilledWhileRemoving_ItIsWholeOrGone) {
  for (const char* point : {"snapshot.remove.begun", "snapshot.remove.unlinked", "snapshot.remove.done"}) {
    const auto taken = take(*open_store(), archive_).value();
    die_at(point, [&] { (void)open_store()->remove("acme", taken.id); });
    const auto store = open_store();
    if (std::string_view(point) == "snapshot.remove.begun") {
      EXPECT_THAT(read(*store, taken.id), Succeeds());
      EXPECT_THAT(store->remove("acme", taken.id), Succeeds());
    }
    EXPECT_TRUE(store->list("acme").empty());
    expect_nothing();
  }
}

TEST_F(Snapshot, DraftsOfACrash_AreRemoved) {
  const auto taken = take(*open_store(), archive_).value();
  std::ofstream(fs::path(directory()) / "acme/pieces/.new-1") << "half";
  std::ofstream(fs::path(directory()) / "acme/manifests/.new-2") << "half";
  std::ofstream(fs::path(directory()) / "acme/pieces" / sha256_hex("unknown")) << "unknown";
  const auto store = open_store();
  EXPECT_THAT(store->remove("acme", taken.id), Succeeds());
  expect_nothing();
}

TEST_F(Snapshot, TakenAndRemovedAtTheSameTime_NoneLosesAPiece) {
  const auto store = open_store();
  const auto work = [&](int seed) {
    for (int i = 0; i < 15; ++i) {
      const auto taken = take(*store, tar_file("own", std::to_string(seed)) + archive_);
      ASSERT_THAT(taken, Succeeds());
      EXPECT_THAT(read(*store, taken->id), Succeeds());
      EXPECT_THAT(store->remove("acme", taken->id), Succeeds());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(store->stored("acme").count, 0U);
  expect_nothing();
}

}  // namespace
}  // namespace cloche::snapshot
