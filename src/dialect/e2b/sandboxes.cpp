#include "dialect/e2b/sandboxes.hpp"

#include "core/ids.hpp"
#include "core/log.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t random_digits = 19;
constexpr std::chrono::seconds expiry_timeout{10};

bool is_there(const session::SessionInfo& info) {
  return info.state == session::SessionState::live || info.state == session::SessionState::paused;
}

}  // namespace

Task<> Sandboxes::start() {
  for (const session::SessionInfo& info : store_.list(std::nullopt)) {
    auto tenant = auth::AuthorizedTenant::of_record(info.key.tenant);
    if (!tenant) continue;
    const auto options = store_.options_of(*tenant, info.key.id);
    if (!options) continue;
    auto attributes = attributes_of(options->attributes);
    if (!attributes) continue;
    const std::chrono::seconds timeout = attributes->timeout;
    const SandboxPtr sandbox = add(*std::move(tenant), info.key.id, *std::move(attributes));
    sandbox->log.add("info", "sandbox found again after a restart of the server");
    if (info.state != session::SessionState::live || info.expires) continue;
    auto ends = co_await store_.set_expiry(sandbox->tenant, sandbox->id, std::chrono::system_clock::now() + timeout,
                                           Deadline::after(expiry_timeout));
    if (!ends) log::error("E2B sandbox {} has no end: {}", sandbox->id, ends.error().message);
  }
}

std::string Sandboxes::new_id() const {
  for (;;) {
    std::string id = "i" + random_hex(random_digits / 2 + 1).substr(0, random_digits);
    if (!by_id_.contains(id)) return id;
  }
}

SandboxPtr Sandboxes::add(auth::AuthorizedTenant tenant, std::string id, Attributes attributes) {
  if (by_id_.size() >= drop_at_) drop_ended();
  auto sandbox = std::make_shared<Sandbox>(Sandbox{.tenant = std::move(tenant),
                                                   .id = id,
                                                   .attributes = std::move(attributes),
                                                   .access_token = {},
                                                   .traffic_token = {},
                                                   .log = {},
                                                   .cpu = {}});
  derive_tokens(*sandbox);
  by_id_.insert_or_assign(std::move(id), sandbox);
  return sandbox;
}

void Sandboxes::derive_tokens(Sandbox& sandbox) const {
  const Attributes& attributes = sandbox.attributes;
  const KeyHolder holder{sandbox.tenant.name(), sandbox.id, attributes.api_key};
  const bool is_public = public_traffic_ && attributes.public_traffic;
  sandbox.access_token = attributes.secure ? keys_.access_token(holder) : std::string();
  sandbox.traffic_token = is_public ? std::string() : keys_.traffic_token(holder);
}

void Sandboxes::drop_ended() {
  std::erase_if(by_id_, [this](const auto& entry) { return !store_.info(entry.second->tenant, entry.first); });
  drop_at_ = 2 * by_id_.size() + 64;
}

SandboxPtr Sandboxes::find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() && info(*found->second) ? found->second : nullptr;
}

SandboxPtr Sandboxes::find(const std::string& tenant, const std::string& id) const {
  SandboxPtr sandbox = find(id);
  return sandbox && sandbox->tenant.name() == tenant ? sandbox : nullptr;
}

SandboxPtr Sandboxes::find_remains(const std::string& tenant, const std::string& id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() && found->second->tenant.name() == tenant ? found->second : nullptr;
}

Result<session::SessionInfo> Sandboxes::info(const Sandbox& sandbox) const {
  CLOCHE_TRY(session::SessionInfo info, store_.info(sandbox.tenant, sandbox.id));
  if (!is_there(info)) return fail(ErrorCode::not_found, "the sandbox has ended");
  return info;
}

Status Sandboxes::set_attributes(Sandbox& sandbox, Attributes attributes) {
  if (sandbox.attributes == attributes) return {};
  CLOCHE_CHECK(store_.set_attributes(sandbox.tenant, sandbox.id, to_map(attributes)));
  sandbox.attributes = std::move(attributes);
  derive_tokens(sandbox);
  return {};
}

}  // namespace cloche::dialect::e2b
