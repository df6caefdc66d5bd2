#include "sessions/with_store.hpp"

#include "core/clock.hpp"

namespace cloche {

using session::SessionStore;

auth::AuthorizedTenant tenant(const std::string& name) { return *auth::AuthorizedTenant::of_record(name); }

Deadline soon() { return Deadline::after(100s); }

const LanguageRegistry& languages() {
  static const LanguageRegistry registry = LanguageRegistry::create().value();
  return registry;
}

void WithStore::in_store(StoreSetup setup, std::function<Task<>(pool::Manager&, SessionStore&)> body) {
  setup.store.profile = "box";
  setup.store.database = (scratch_.path() / "sessions.db").string();
  in_manager(with(setup.profile.value_or(profile(1, 4))), [&](pool::Manager& manager) -> Task<> {
    auth::Quotas quotas(setup.quota, Clocks().steady);
    setup.snapshots.directory = (scratch_.path() / "snapshots").string();
    snapshot_store_ = std::make_shared<snapshot::SnapshotStore>(setup.snapshots);
    EXPECT_TRUE(snapshot_store_->open());
    snapshot::Snapshots snapshots(snapshot_store_, quotas);
    snapshots_ = &snapshots;
    setup.store.snapshots = session::hooks_for(snapshots);
    auto store = SessionStore::open(io_.get_executor(), manager, quotas, setup.store);
    EXPECT_TRUE(store) << store.error().message;
    if (!store) co_return;
    auto started = co_await (*store)->start();
    EXPECT_TRUE(started) << started.error().message;
    std::exception_ptr thrown;
    try {
      co_await body(manager, **store);
    } catch (...) {
      thrown = std::current_exception();
    }
    co_await (*store)->shut_down(Deadline::after(60s));
    EXPECT_EQ((*store)->list(std::nullopt).size(), 0u);
    if (thrown) std::rethrow_exception(thrown);
  });
}

void WithStore::in_store(std::function<Task<>(SessionStore&)> body) {
  in_store({}, [body = std::move(body)](pool::Manager&, SessionStore& store) { return body(store); });
}

}  // namespace cloche
