// Snapshots of sessions and forks, with real sandboxes: what is kept, what is not, and what hostile trees try.
#include "session/store.hpp"
#include "sessions/with_store.hpp"
#include "snapshot/snapshots.hpp"
#include "support/result_matchers.hpp"

namespace cloche {

namespace {

using session::EndMode;
using session::ForkRequest;
using session::SessionOptions;
using session::SessionStore;
using session::SessionUse;
using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;

Task<SessionUse> made_session(SessionStore& store, std::string id, std::string snapshot = "") {
  SessionOptions options;
  options.snapshot = std::move(snapshot);
  auto made = co_await store.create(tenant(), id, std::move(options), soon());
  if (!made) throw std::runtime_error("no session: " + made.error().message);
  auto found = store.find(tenant(), id);
  if (!found) throw std::runtime_error("no session: " + found.error().message);
  co_return std::move(*found);
}

Task<Result<snapshot::SnapshotInfo>> keep(snapshot::Snapshots& snapshots, SessionUse& use, std::string name = "") {
  snapshot::TakeRequest wanted;
  wanted.name = std::move(name);
  wanted.session = use->key().id;
  wanted.profile = use->profile().name;
  co_return co_await snapshots.take(tenant(), std::move(wanted), use->lease(), soon());
}

Task<std::string> said_in(SessionUse& use, std::string line) { return shell(use->lease(), std::move(line)); }

// Names, types, modes, times and links of all files.
constexpr const char* describe = "find . -mindepth 1 -printf '%P %y %m %Ts %l %s\\n' | grep -v ' d .* 4096$' | sort";

}  // namespace

class SessionSnapshots : public WithStore {};

TEST_P(SessionSnapshots, Restored_HasTheSameFiles) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionUse first = co_await made_session(store, "s1");
    (void)co_await said_in(first,
                           "mkdir -p d/e empty closed; echo text > d/e/f; chmod 640 d/e/f; ln -s ../d/e/f d/l; ln -s "
                           "/etc/passwd out; ln -s nowhere dangling; touch -d @1500000000 d/e/f 'a b'; : > zero;"
                           "ln d/e/f hard; head -c 3000000 /dev/urandom > large; chmod 555 closed; touch -d "
                           "@1400000000 empty");
    const std::string before = co_await said_in(first, std::string(describe) + "; sha256sum large d/e/f hard");
    const auto taken = co_await keep(*snapshots_, first, "kept");
    EXPECT_THAT(taken, Succeeds());
    if (!taken) co_return;
    EXPECT_EQ(taken->session, "s1");
    (void)co_await said_in(first, "rm -rf *");
    SessionUse second = co_await made_session(store, "s2", "kept");
    EXPECT_EQ(second->options().snapshot, taken->id);
    const std::string after = co_await said_in(second, std::string(describe) + "; sha256sum large d/e/f hard");
    EXPECT_EQ(after, before);
    // The files are the user's.
    const std::string writable = co_await said_in(second, "echo more >> d/e/f && cat d/l");
    EXPECT_EQ(writable, "text\nmore\n");
  });
}

TEST_P(SessionSnapshots, Unknown_MakesNoSession) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.snapshot = "absent";
    auto made = co_await store.create(tenant(), "s1", std::move(options), soon());
    EXPECT_THAT(made, FailsSaying(ErrorCode::not_found, "no such snapshot"));
    EXPECT_TRUE(store.list(std::nullopt).empty());
  });
}

TEST_P(SessionSnapshots, OfAnotherTenant_IsNotThere) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    const auto taken = co_await keep(*snapshots_, mine, "kept");
    EXPECT_THAT(taken, Succeeds());
    if (!taken) co_return;
    for (const std::string& which : {taken->id, std::string("kept")}) {
      SessionOptions options;
      options.snapshot = which;
      auto made = co_await store.create(tenant("blue"), "s1", std::move(options), soon());
      EXPECT_THAT(made, FailsSaying(ErrorCode::not_found, "no such snapshot"));
      const auto found = co_await snapshots_->find(tenant("blue"), which);
      EXPECT_THAT(found, FailsSaying(ErrorCode::not_found, "no such snapshot"));
      const auto removed = co_await snapshots_->remove(tenant("blue"), which);
      EXPECT_THAT(removed, FailsSaying(ErrorCode::not_found, "no such snapshot"));
    }
  });
}

TEST_P(SessionSnapshots, DamagedOne_MakesNoSession) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    (void)co_await said_in(mine, "echo text > f");
    const auto taken = co_await keep(*snapshots_, mine, "kept");
    EXPECT_THAT(taken, Succeeds());
    for (const auto& piece : std::filesystem::directory_iterator(scratch_.path() / "snapshots/red/pieces")) {
      std::filesystem::resize_file(piece.path(), 10);
    }
    SessionOptions options;
    options.snapshot = "kept";
    auto made = co_await store.create(tenant(), "s2", std::move(options), soon());
    EXPECT_THAT(made, FailsWith(ErrorCode::internal));
    EXPECT_EQ(store.list(std::nullopt).size(), 1u);
    // Its place is free.
    SessionUse again = co_await made_session(store, "s2");
    const std::string listed = co_await said_in(again, "ls -A");
    EXPECT_EQ(listed, "");
  });
}

TEST_P(SessionSnapshots, SparseFileBeyondTheLargestSize_IsRefused) {
  StoreSetup setup;
  setup.snapshots.max_size = mib(2);
  in_store(std::move(setup), [&](pool::Manager&, SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    (void)co_await said_in(mine, "echo text > a; truncate -s 3M sparse");
    const auto taken = co_await keep(*snapshots_, mine);
    EXPECT_THAT(taken, FailsSaying(ErrorCode::limit_reached, "max_size"));
    co_await eventually("nothing is left", [&] { return snapshot_store_->stored({}).count == 0; });
    // The session is as it was.
    const std::string read = co_await said_in(mine, "cat a; rm sparse");
    EXPECT_EQ(read, "text\n");
    const auto again = co_await keep(*snapshots_, mine);
    EXPECT_THAT(again, Succeeds());
  });
}

TEST_P(SessionSnapshots, ManyTinyFiles_AreBoundedInNumber) {
  StoreSetup setup;
  setup.snapshots.max_entries = 500;
  in_store(std::move(setup), [&](pool::Manager&, SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    (void)co_await said_in(mine, "mkdir d && cd d && seq 500 | xargs touch");
    const auto taken = co_await keep(*snapshots_, mine);
    EXPECT_THAT(taken, FailsSaying(ErrorCode::limit_reached, "500 files"));
    co_await eventually("nothing is left", [&] { return snapshot_store_->stored({}).count == 0; });
  });
}

TEST_P(SessionSnapshots, QuotasOfTheTenant_Hold) {
  StoreSetup setup;
  setup.quota.limits.snapshots = 1;
  setup.quota.limits.snapshot_bytes = mib(1).count;
  in_store(std::move(setup), [&](pool::Manager&, SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    (void)co_await said_in(mine, "head -c 2000000 /dev/urandom > large");
    const auto too_large = co_await keep(*snapshots_, mine);
    EXPECT_THAT(too_large, FailsWith(ErrorCode::limit_reached));
    (void)co_await said_in(mine, "rm large");
    const auto taken = co_await keep(*snapshots_, mine);
    EXPECT_THAT(taken, Succeeds());
    const auto second = co_await keep(*snapshots_, mine);
    EXPECT_THAT(second, FailsSaying(ErrorCode::limit_reached, "1 of 1"));
  });
}

TEST_P(SessionSnapshots, Forks_HaveFilesAndOptionsAndGoTheirOwnWays) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.env = {{"WHO", "parent"}};
    options.metadata = {{"k", "v"}};
    auto made = co_await store.create(tenant(), "s1", std::move(options), soon());
    EXPECT_THAT(made, Succeeds());
    auto parent = store.find(tenant(), "s1");
    if (!parent) co_return;
    (void)co_await said_in(*parent, "echo one > f");
    ForkRequest wanted;
    wanted.count = 2;
    auto forks = co_await store.fork(tenant(), "s1", std::move(wanted), soon());
    EXPECT_THAT(forks, Succeeds());
    if (!forks || forks->size() != 2 || !(*forks)[0] || !(*forks)[1]) {
      ADD_FAILURE() << "no forks";
      co_return;
    }
    EXPECT_EQ((*forks)[0]->metadata, (std::map<std::string, std::string>{{"k", "v"}}));
    auto a = store.find(tenant(), (*forks)[0]->key.id);
    auto b = store.find(tenant(), (*forks)[1]->key.id);
    if (!a || !b) co_return;
    (void)co_await said_in(*a, "echo two > f");
    const std::string said_b = co_await said_in(*b, "cat f; echo $WHO");
    EXPECT_EQ(said_b, "one\nparent\n");
    const std::string said_parent = co_await said_in(*parent, "cat f");
    EXPECT_EQ(said_parent, "one\n");
    EXPECT_TRUE(snapshot_store_->list(std::nullopt).empty());
    co_await eventually("the temporary snapshot is gone", [&] { return snapshot_store_->stored({}).count == 0; });
  });
}

TEST_P(SessionSnapshots, ForkThatCannotBeMade_IsItsOwnError) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionUse parent = co_await made_session(store, "s1");
    ForkRequest wanted;
    wanted.count = 2;
    wanted.ids = {"s1", "s2"};
    wanted.change = [](SessionOptions& options) { options.metadata = {{"fork", "yes"}}; };
    auto forks = co_await store.fork(tenant(), "s1", std::move(wanted), soon());
    EXPECT_THAT(forks, Succeeds());
    if (!forks) co_return;
    EXPECT_THAT((*forks)[0], FailsWith(ErrorCode::already_exists));
    EXPECT_THAT((*forks)[1], Succeeds());
    EXPECT_EQ((*forks)[1] ? (*forks)[1]->metadata.count("fork") : 0u, 1u);
    co_await eventually("the temporary snapshot is gone", [&] { return snapshot_store_->stored({}).count == 0; });
    for (const auto& [count, ids] : std::vector<std::pair<std::uint32_t, std::vector<std::string>>>{
             {0, {}}, {101, {}}, {2, {"x"}}, {1, {"../x"}}}) {
      ForkRequest wrong;
      wrong.count = count;
      wrong.ids = ids;
      const auto refused = co_await store.fork(tenant(), "s1", std::move(wrong), soon());
      EXPECT_THAT(refused, FailsWith(ErrorCode::invalid_argument)) << count;
    }
    ForkRequest plain;
    const auto stranger = co_await store.fork(tenant("blue"), "s1", std::move(plain), soon());
    EXPECT_THAT(stranger, FailsWith(ErrorCode::not_found));
  });
}

TEST_P(SessionSnapshots, SandboxThatDiesMeanwhile_LeavesNothing) {
  in_store([&](SessionStore& store) -> Task<> {
    SessionUse mine = co_await made_session(store, "s1");
    (void)co_await said_in(mine, "head -c 30000000 /dev/zero > large");
    mine->lease()->cut_off({ErrorCode::sandbox_lost, "it died"});
    const auto taken = co_await keep(*snapshots_, mine);
    EXPECT_THAT(taken, FailsWith(ErrorCode::sandbox_lost));
    co_await eventually("nothing is left", [&] { return snapshot_store_->stored({}).count == 0; });
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionSnapshots, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace cloche
