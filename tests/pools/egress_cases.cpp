// Leases with a network: it is there for the lease alone.
#include "support/pools.hpp"

namespace cloche {

namespace {

// The error of a connection to the proxy: 0, or 111 if nothing listens.
constexpr const char* try_proxy =
    "python3 -c \"import socket; print(socket.socket().connect_ex(('127.0.0.1', 3128)))\"";

NetworkPolicy some_network() {
  NetworkPolicy network;
  network.mode = Network::allow_list;
  network.allow = {"allowed.example"};
  return network;
}

ClaimOptions with_network() {
  ClaimOptions claim;
  claim.network = some_network();
  return claim;
}

}  // namespace

POOLS(ClaimWithANetwork_HasAProxyAndTheNextClaimHasNone) {
  if (fake_has_no("a loopback of its own")) return;
  // gVisor does not show the ports of closed connections, so such a sandbox is replaced.
  const bool is_reused = !target().is_gvisor();
  in_manager(with(profile(1, 1)), [is_reused](pool::Manager& manager) -> Task<> {
    std::string id;
    {
      const ClaimOptions claim = with_network();
      pool::Lease lease = co_await lend(manager, claim);
      id = lease->id().value;
      const std::string variables = co_await shell(lease, "echo $HTTP_PROXY $https_proxy $ALL_PROXY");
      EXPECT_THAT(variables, HasSubstr("http://127.0.0.1:3128"));
      const std::string proxy = co_await shell(lease, try_proxy);
      EXPECT_EQ(proxy, "0\n");
      EXPECT_NE(lease.egress_books(), nullptr);
    }
    pool::Lease next = co_await lend(manager);
    EXPECT_EQ(next->id().value == id, is_reused);
    EXPECT_EQ(next.egress_books(), nullptr);
    const std::string variables = co_await shell(next, "env | grep -ci _proxy=");
    EXPECT_EQ(variables, "0\n");
    const std::string proxy = co_await shell(next, try_proxy);
    EXPECT_EQ(proxy, "111\n");
  });
}

POOLS(NetworkOfAProfile_IsThatOfItsClaimsUnlessTheySayNone) {
  if (fake_has_no("a loopback of its own")) return;
  Profile online = profile(1, 2);
  online.network = some_network();
  in_manager(with(online), [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string proxy = co_await shell(lease, try_proxy);
    EXPECT_EQ(proxy, "0\n");
    ClaimOptions none;
    none.network = NetworkPolicy();
    pool::Lease closed = co_await lend(manager, none);
    const std::string nothing = co_await shell(closed, try_proxy);
    EXPECT_EQ(nothing, "111\n");
  });
}

POOLS(RevokedLeaseWithANetwork_IsClosedAndReplaced) {
  if (fake_has_no("a loopback of its own")) return;
  Profile hasty = profile(1, 1);
  hasty.pool.running_timeout = 1s;
  in_manager(with(hasty), [](pool::Manager& manager) -> Task<> {
    const ClaimOptions claim = with_network();
    pool::Lease lease = co_await lend(manager, claim);
    const auto books = lease.egress_books();
    co_await eventually("the lease is revoked", [&] { return manager.stats().at("box").revoked == 1; });
    co_await eventually("its books are closed", [&] { return books->closed(); });
    pool::Lease next = co_await lend(manager);
    const std::string proxy = co_await shell(next, try_proxy);
    EXPECT_EQ(proxy, "111\n");
  });
}

POOLS(NetworkThatCannotBe_IsRefusedBeforeASandboxIsTaken) {
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    ClaimOptions claim = with_network();
    claim.network->rules = {"missing"};
    auto refused = co_await manager.acquire("box", claim);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_THAT(refused.error().message, HasSubstr("no such rule set: `missing`"));
    EXPECT_EQ(manager.stats().at("box").active, 0u);
  });
}

}  // namespace cloche
