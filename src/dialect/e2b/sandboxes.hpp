// Sandboxes: the sessions that are E2B's, by the sandbox's id alone: a request to a sandbox names no tenant.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dialect/e2b/attributes.hpp"
#include "dialect/e2b/keys.hpp"
#include "dialect/e2b/sandbox_log.hpp"
#include "session/store.hpp"

namespace cloche::dialect::e2b {

// What was measured last, for the share of the cpu that is used.
struct CpuSample {
  Deadline::Clock::time_point time;
  std::chrono::microseconds used{};
};

struct Sandbox {
  auth::AuthorizedTenant tenant;
  std::string id;
  Attributes attributes;
  std::string access_token;   // empty: it needs none
  std::string traffic_token;  // empty: its ports need none
  SandboxLog log;
  std::optional<CpuSample> cpu;
};

using SandboxPtr = std::shared_ptr<Sandbox>;

class Sandboxes {
 public:
  // The store outlives it. Without public traffic, the ports of all sandboxes need a token.
  Sandboxes(session::SessionStore& store, SandboxKeys keys, bool public_traffic)
      : store_(store), keys_(std::move(keys)), public_traffic_(public_traffic) {}

  // After the store's start: those of an earlier process. One that was being resumed then gets an end again.
  Task<> start();

  // A new id that no sandbox has.
  std::string new_id() const;
  SandboxPtr add(auth::AuthorizedTenant tenant, std::string id, Attributes attributes);
  void forget(const std::string& id) { by_id_.erase(id); }

  // nullptr if there is none, and if its session has ended or was lost.
  SandboxPtr find(const std::string& id) const;
  // The same for one that must be this tenant's.
  SandboxPtr find(const std::string& tenant, const std::string& id) const;
  // The same, also if its session was lost: it can only be ended.
  SandboxPtr find_remains(const std::string& tenant, const std::string& id) const;
  // The state of its session. `not_found` unless it lives or is paused.
  Result<session::SessionInfo> info(const Sandbox& sandbox) const;
  const std::map<std::string, SandboxPtr>& all() const { return by_id_; }

  // Changes the attributes, in the session's record first.
  Status set_attributes(Sandbox& sandbox, Attributes attributes);

 private:
  // Sessions end by themselves; entries without one are dropped when they have become many.
  void drop_ended();

  void derive_tokens(Sandbox& sandbox) const;

  session::SessionStore& store_;
  SandboxKeys keys_;
  bool public_traffic_;
  std::map<std::string, SandboxPtr> by_id_;
  std::size_t drop_at_ = 64;
};

}  // namespace cloche::dialect::e2b
