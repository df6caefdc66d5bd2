/// @file
/// EgressOptions: how a manager carries connections of sandboxed programs to the outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cloche {

/// How a secret is put on a request. The program never has it.
struct EgressSecretUse {
  /// The part of the request.
  enum class Where {
    header,  ///< The header EgressSecretUse::name.
    basic,   ///< Basic authentication, as the user EgressSecretUse::name.
    query,   ///< The query parameter EgressSecretUse::name.
  };
  std::string secret;             ///< Its name in EgressOptions::secrets.
  Where where = Where::header;    ///< The part of the request.
  std::string name;               ///< The header, user or query parameter.
  std::string value{"{secret}"};  ///< Of a header: the text in which `{secret}` is replaced.
};

/// A rule of a rule set.
struct EgressRule {
  /// The destination, as in NetworkPolicy::allow.
  std::string host;
  /// Ports, such as `443` and `8000-8999`, if `host` has none.
  std::vector<std::string> ports;
  std::vector<std::string> methods;       ///< HTTP methods. Empty: all.
  std::vector<std::string> paths;         ///< Prefixes of HTTP paths. Empty: all.
  std::optional<EgressSecretUse> secret;  ///< A secret that is put on each request.
};

/// Rules that profiles, claims and sessions refer to by a name.
struct EgressRuleSet {
  std::vector<EgressRule> allow;  ///< Allowed destinations. They may be private addresses.
  std::vector<EgressRule> deny;   ///< Refused destinations. They take precedence.
};

/// Where a secret comes from. It is read when it is used.
struct EgressSecret {
  /// The kind of place.
  enum class Source {
    value,    ///< EgressSecret::text is the secret.
    env,      ///< A variable of this process.
    file,     ///< A file: EgressSecret::text is its path.
    command,  ///< What EgressSecret::command prints.
  };
  Source source = Source::value;     ///< The kind of place.
  std::string text;                  ///< The value, the variable or the path.
  std::vector<std::string> command;  ///< The program and its arguments.
};

/// Rules, limits and timeouts of all connections that a manager carries.
struct EgressOptions {
  std::map<std::string, EgressRuleSet> rules;   ///< Rule sets by name.
  std::map<std::string, EgressSecret> secrets;  ///< Secrets that rules name.
  /// The proxy through which connections go: `http://[USER:PASSWORD@]HOST:PORT`. Empty: none.
  std::string upstream_proxy;
  /// A PEM file of authorities that are trusted in addition to those of the system.
  std::string extra_ca;
  std::uint16_t port = 3128;                          ///< The port of the proxy in each sandbox.
  std::uint32_t max_connections = 256;                ///< The limit of connections of one sandbox at a time.
  std::uint32_t events = 1000;                        ///< How many events of a sandbox are kept.
  std::chrono::milliseconds resolve_timeout{5'000};   ///< The time limit of a name's resolution.
  std::chrono::milliseconds connect_timeout{10'000};  ///< The time limit of a connection's establishment.
  std::chrono::milliseconds idle_timeout{300'000};    ///< The time without data after which a connection is closed.
};

}  // namespace cloche
