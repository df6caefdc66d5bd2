// Kubeconfig: which cluster to use and as whom, as kubectl and all other clients store it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace cloche::kubernetes {

// A program that is run to get a token or a certificate.
struct CredentialPlugin {
  std::string command;  // a name is searched in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
};

// One context with its cluster and its user. Files are absolute paths; data is PEM text. Certificates and keys have at
// most one of the two: data comes first, as for kubectl.
struct ClusterAccess {
  std::string context;
  std::string server;       // https://HOST[:PORT][/PREFIX]
  std::string server_name;  // in the server's certificate; empty: the host
  std::string authority;    // a path or PEM text; empty: the host's own authorities
  std::string certificate;  // a path or PEM text; empty: none
  std::string key;
  std::string token;
  std::string token_file;  // read again and again; comes before `token`
  std::optional<CredentialPlugin> plugin;
  std::string namespace_name;  // empty: none is named
};

struct KubeconfigText {
  std::string text;
  std::string directory;  // relative paths start there
};

// What the texts say together: the first that has a name defines it. `context`: empty for the current one.
// invalid_argument for anything that cannot be used, with what to do; a secret is not repeated.
Result<ClusterAccess> read_kubeconfig(const std::vector<KubeconfigText>& texts, const std::string& context);

// What a plugin prints.
struct PluginCredential {
  std::string token;
  std::string certificate;
  std::string key;
  std::string expires;  // `2031-05-17T09:30:00Z`; empty: not known
};
Result<PluginCredential> read_plugin_credential(std::string_view json);
// What a plugin reads in the variable KUBERNETES_EXEC_INFO.
std::string plugin_request(const CredentialPlugin& plugin);

// Whether it can be a name of a namespace, or of another object in a path.
bool is_object_name(std::string_view text);

}  // namespace cloche::kubernetes
