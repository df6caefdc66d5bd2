// The configuration of the service itself: addresses, access, sessions, the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "auth/access_table.hpp"
#include "auth/jwt/jwt_verifier.hpp"
#include "auth/quotas.hpp"
#include "cloche/bytes.hpp"
#include "cloche/limits.hpp"
#include "cloche/spec.hpp"
#include "http/server/limits.hpp"
#include "sandbox/change_rules.hpp"

namespace cloche::config {

struct TlsFiles {
  std::string certificate;  // PEM, the whole chain
  std::string key;
};

enum class AuthMode {
  automatic,  // tokens where there are any, or where others than this machine can call
  tokens,     // always; the first one is created if there are none
  none,       // never: for this machine alone
};

struct ServerSettings {
  std::vector<std::string> listen;  // empty: 127.0.0.1:8080
  std::optional<TlsFiles> tls;      // of all TCP addresses
  AuthMode auth = AuthMode::automatic;
  std::string tokens;  // the token file; empty: `tokens.json` in the state directory
  std::optional<auth::JwtOptions> jwt;
  auth::QuotaOptions quotas;
  http::ServerLimits limits;
  http::TenantBodies tenant_bodies;  // read from `quotas`
};

struct SessionSettings {
  std::string profile =
      "session";  // of sessions that do not name one; created by Cloche if there is none with this name
  std::chrono::seconds idle_timeout{900};
  std::chrono::seconds paused_timeout = std::chrono::hours(24);
  std::uint32_t most = 50;         // of all tenants together; 0: no sessions
  std::optional<Bytes> memory;     // over the profile's
  bool gpus = false;               // one GPU for each session whose profile has none
  bool gpus_with_network = false;  // whether a profile with GPUs may have a network
  // Over the profile's. Without it, the profile that Cloche makes is on disk if this host can have disks.
  std::optional<WorkspaceKind> workspace;
  std::optional<Bytes> disk_size;
  // Which changed files are reported after a run whose request does not set this.
  ChangeRules artifacts{.usual = ChangeRules::Usual::ignored, .include = {}, .exclude = {}};
  // Time limits of a terminal: in total, and without input or output.
  std::chrono::milliseconds terminal_timeout = std::chrono::hours(8);
  std::chrono::milliseconds terminal_idle_timeout = std::chrono::minutes(30);
  // That a request may raise the limits of its session to.
  LimitOverrides max_limits{.memory = mib(2048), .cpus = 4, .pids = 4096, .file_size = mib(1024), .open_files = 65536};
  std::string image;  // of the profile that Cloche makes; on oci none: the host's own /usr
};

struct SnapshotSettings {
  Bytes max_size = mib(8 * 1024);  // of the files of one snapshot
};

// Who may use what, where a configuration says so.
struct AccessSettings {
  auth::AccessTable::Lists secrets;    // that a request may name
  auth::AccessTable::Lists profiles;   // in place of what holds for a profile that lists no tenants
  auth::AccessTable::Lists rule_sets;  // that a request may name
  auth::AccessList network;            // who may choose one in place of the profile's
};

// E2B's API (src/dialect/e2b).
struct E2bSettings {
  bool enabled = true;
  std::string domain;          // sandboxes are reached as PORT-ID.DOMAIN; may have a port. Empty: only by headers
  bool insecure = false;       // requests may create sandboxes that need no access token
  bool public_traffic = true;  // ports of sandboxes need no token, unless the sandbox was created so
  std::chrono::seconds max_timeout = std::chrono::hours(24);
  std::map<std::string, std::string> templates;  // names of profiles, by the names of templates
};

// APIs of other systems that the service speaks.
struct DialectSettings {
  E2bSettings e2b;
};

enum class LogForm { automatic, text, json };

struct LogSettings {
  std::string level = "info";  // trace, debug, info, warn, error, off
  LogForm form = LogForm::automatic;
};

}  // namespace cloche::config
