#include "backend/kubernetes/access/kubeconfig.hpp"

#include <algorithm>
#include <span>

#include "config/yaml_tree.hpp"
#include "core/base64.hpp"
#include "core/file_error.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"

namespace cloche::kubernetes {

namespace {

constexpr std::size_t longest_token = 16 * 1024;
constexpr std::size_t longest_name = 253;

std::unexpected<Error> bad_config(std::string why) {
  return fail(ErrorCode::invalid_argument, "kubeconfig: " + std::move(why));
}

using config::YamlNode;

// The value of a map's key; null if there is none.
const YamlNode* value_of(const YamlNode& in, std::string_view name) {
  const auto found = std::ranges::find(in.keys, name, &config::Key::text);
  return found == in.keys.end() ? nullptr : &in.items[static_cast<std::size_t>(found - in.keys.begin())];
}

std::span<const YamlNode> list_of(const YamlNode& in, std::string_view name) {
  const YamlNode* found = value_of(in, name);
  if (found == nullptr || found->kind != YamlNode::Kind::list) return {};
  return found->items;
}

std::string text_of(const YamlNode& in, std::string_view name) {
  const YamlNode* found = value_of(in, name);
  return found != nullptr && found->kind == YamlNode::Kind::scalar ? found->text : std::string();
}

bool is_true(const YamlNode& in, const char* name) {
  const std::string text = text_of(in, name);
  return !text.empty() && text != "false";
}

std::string absolute(const std::string& path, const std::string& directory) {
  if (path.empty() || path.front() == '/' || directory.empty()) return path;
  return directory + "/" + path;
}

// The value of NAME-data, or else the path of NAME.
Result<std::string> material(const YamlNode& in, const std::string& name, const std::string& directory) {
  const std::string data = text_of(in, name + "-data");
  if (data.empty()) return absolute(text_of(in, name), directory);
  std::string packed;
  std::ranges::copy_if(data, std::back_inserter(packed), [](char c) { return c != '\n' && c != ' '; });
  auto decoded = decode_base64(packed);
  if (!decoded || !decoded->starts_with("-----BEGIN")) return bad_config(name + "-data is not a PEM text in base64");
  return std::move(*decoded);
}

Result<CredentialPlugin> read_plugin(const YamlNode& in, const std::string& directory) {
  CredentialPlugin plugin;
  plugin.command = text_of(in, "command");
  if (plugin.command.empty()) return bad_config("exec has no command");
  // A name alone is searched in PATH; a path with a slash starts at the file's directory.
  if (plugin.command.find('/') != std::string::npos) plugin.command = absolute(plugin.command, directory);
  plugin.api_version = text_of(in, "apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return bad_config("exec has the apiVersion '" + shown(plugin.api_version) +
                      "'; expected client.authentication.k8s.io/v1 or v1beta1");
  }
  if (text_of(in, "interactiveMode") == "Always")
    return bad_config("exec needs a terminal (interactiveMode: Always), which a service does not have");
  if (is_true(in, "provideClusterInfo"))
    return bad_config("exec wants to know the cluster (provideClusterInfo), which is not supported");
  plugin.install_hint = text_of(in, "installHint");
  for (const YamlNode& each : list_of(in, "args")) plugin.args.push_back(each.text);
  for (const YamlNode& each : list_of(in, "env"))
    plugin.env.emplace_back(text_of(each, "name"), text_of(each, "value"));
  return plugin;
}

struct Document {
  YamlNode root;
  std::string directory;
};

struct Named {
  const YamlNode& value;
  const std::string& directory;
};

// The entry of a list such as `clusters` that has this name, in the first text that has one.
std::optional<Named> find_named(const std::vector<Document>& all, std::string_view list, std::string_view kind,
                                const std::string& name) {
  for (const Document& document : all) {
    for (const YamlNode& entry : list_of(document.root, list)) {
      if (text_of(entry, "name") != name) continue;
      const YamlNode* value = value_of(entry, kind);
      if (value != nullptr && value->kind == YamlNode::Kind::map) return Named{*value, document.directory};
    }
  }
  return std::nullopt;
}

Status read_cluster(const Named& cluster, ClusterAccess& access) {
  access.server = text_of(cluster.value, "server");
  if (!access.server.starts_with("https://")) {
    return bad_config("the server '" + shown(access.server) +
                      "' must be an https:// address: without TLS, programs of the network could read the token");
  }
  if (is_true(cluster.value, "insecure-skip-tls-verify")) {
    return bad_config(
        "insecure-skip-tls-verify is not supported: any machine on the way could take the credentials and the "
        "sandboxes; set certificate-authority instead");
  }
  if (!text_of(cluster.value, "proxy-url").empty()) return bad_config("proxy-url is not supported");
  access.server_name = text_of(cluster.value, "tls-server-name");
  CLOCHE_TRY(access.authority, material(cluster.value, "certificate-authority", cluster.directory));
  return {};
}

Status read_user(const Named& user, ClusterAccess& access) {
  CLOCHE_TRY(access.certificate, material(user.value, "client-certificate", user.directory));
  CLOCHE_TRY(access.key, material(user.value, "client-key", user.directory));
  if (access.certificate.empty() != access.key.empty())
    return bad_config("client-certificate and client-key must both be set");
  access.token = text_of(user.value, "token");
  access.token_file = absolute(text_of(user.value, "tokenFile"), user.directory);
  const YamlNode* plugin = value_of(user.value, "exec");
  if (plugin != nullptr && plugin->kind == YamlNode::Kind::map) {
    CLOCHE_TRY(access.plugin, read_plugin(*plugin, user.directory));
  }
  if (value_of(user.value, "auth-provider") != nullptr)
    return bad_config("auth-provider was removed from Kubernetes; use exec, a token or a certificate");
  if (!text_of(user.value, "username").empty())
    return bad_config("user name and password were removed from Kubernetes; use exec, a token or a certificate");
  for (const char* name : {"as", "as-uid"}) {
    if (!text_of(user.value, name).empty()) return bad_config(std::string(name) + " is not supported");
  }
  return {};
}

bool is_token(std::string_view text) {
  return text.size() <= longest_token && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<ClusterAccess> read_loaded(const std::vector<Document>& all, const std::string& wanted) {
  ClusterAccess access;
  access.context = wanted;
  for (const Document& document : all) {
    if (access.context.empty()) access.context = text_of(document.root, "current-context");
  }
  if (access.context.empty()) {
    return bad_config("it has no current-context; name one by `kubernetes.context` or `kubectl config use-context`");
  }
  const auto context = find_named(all, "contexts", "context", access.context);
  if (!context) return bad_config("it has no context '" + shown(access.context) + "'");
  const std::string cluster_name = text_of(context->value, "cluster");
  const auto cluster = find_named(all, "clusters", "cluster", cluster_name);
  if (!cluster) return bad_config("it has no cluster '" + shown(cluster_name) + "'");
  CLOCHE_CHECK(read_cluster(*cluster, access));
  const std::string user_name = text_of(context->value, "user");
  const auto user = find_named(all, "users", "user", user_name);
  if (!user) return bad_config("it has no user '" + shown(user_name) + "'");
  CLOCHE_CHECK(read_user(*user, access));
  if (!is_token(access.token)) return bad_config("the token contains characters that no token has");
  access.namespace_name = text_of(context->value, "namespace");
  if (!access.namespace_name.empty() && !is_object_name(access.namespace_name))
    return bad_config("'" + shown(access.namespace_name) + "' is not a valid namespace");
  return access;
}

}  // namespace

bool is_object_name(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= longest_name && is_plain(text.front()) && is_plain(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_plain(c) || c == '-' || c == '.'; });
}

Result<ClusterAccess> read_kubeconfig(const std::vector<KubeconfigText>& texts, const std::string& context) {
  std::vector<Document> all;
  for (const KubeconfigText& each : texts) {
    auto root = config::parse_yaml(each.text, "kubeconfig");
    if (!root) return fail(std::move(root).error());
    if (root->kind == YamlNode::Kind::null) continue;
    if (root->kind != YamlNode::Kind::map) return bad_config("it is not a YAML map");
    all.push_back({std::move(*root), each.directory});
  }
  return read_loaded(all, context);
}

Result<PluginCredential> read_plugin_credential(std::string_view text) {
  const auto root = json::parse(text);
  if (!root) return fail(ErrorCode::protocol, "the credential plugin did not print an ExecCredential");
  const json::value* status = json::find(*root, "status");
  if (json::text(json::find(*root, "kind")) != "ExecCredential" || status == nullptr || !status->is_object())
    return fail(ErrorCode::protocol, "the credential plugin did not print an ExecCredential with a status");
  PluginCredential credential;
  credential.token = json::text(json::find(*status, "token"));
  credential.certificate = json::text(json::find(*status, "clientCertificateData"));
  credential.key = json::text(json::find(*status, "clientKeyData"));
  credential.expires = json::text(json::find(*status, "expirationTimestamp"));
  if (credential.token.empty() && credential.certificate.empty())
    return fail(ErrorCode::protocol, "the credential plugin printed neither a token nor a certificate");
  if (credential.certificate.empty() != credential.key.empty())
    return fail(ErrorCode::protocol, "the credential plugin printed a certificate or a key alone");
  const bool is_pem = credential.certificate.empty() ||
                      (credential.certificate.starts_with("-----BEGIN") && credential.key.starts_with("-----BEGIN"));
  if (!is_token(credential.token) || !is_pem)
    return fail(ErrorCode::protocol, "the credential plugin printed an invalid token or certificate");
  return credential;
}

std::string plugin_request(const CredentialPlugin& plugin) {
  const json::object request{
      {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", json::object{{"interactive", false}}}};
  return write_json(request);
}

}  // namespace cloche::kubernetes
