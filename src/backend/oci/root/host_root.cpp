#include "backend/oci/root/host_root.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "backend/oci/files.hpp"
#include "core/user_lines.hpp"

namespace cloche::oci {

namespace {

constexpr std::array top_level = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
// Small, and copied.
constexpr std::array etc_exact = {"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "matplotlibrc", "mime.types"};
// Hundreds of links each, and mounted.
constexpr std::array etc_large = {"/etc/alternatives", "/etc/ssl/certs"};

// What `openssl req` needs to make a key and a certificate. The host's own may name its keys.
constexpr std::string_view openssl_config =
    "[req]\ndistinguished_name = names\nx509_extensions = own\n\n[names]\ncommonName = Common name\n\n"
    "[own]\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid:always,issuer\n"
    "basicConstraints = critical,CA:true\n";

bool is_wanted_of_etc(std::string_view name) {
  return std::ranges::find(etc_exact, name) != etc_exact.end() || name.starts_with("ca-certificates") ||
         name.starts_with("python3") || (name.starts_with("java-") && name.ends_with("-openjdk"));
}

Status add_generated_etc(RootPlanner& root, const HostRootUser& user, const std::string& host) {
  const SandboxUser uid_0{.name = "root", .home = user.root_home};
  CLOCHE_CHECK(root.add_file("/etc/passwd", passwd_line(uid_0) + passwd_line(user.user) +
                                                // lint-words: allow
                                                "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"));
  CLOCHE_CHECK(root.add_file("/etc/group", with_group_line("root:x:0:\nnogroup:x:65534:\n", user.user)));
  CLOCHE_CHECK(
      root.add_file("/etc/hosts", "127.0.0.1\tlocalhost " + user.hostname + "\n::1\tlocalhost ip6-localhost\n"));
  CLOCHE_CHECK(root.add_file("/etc/hostname", user.hostname + "\n"));
  CLOCHE_CHECK(root.add_file("/etc/nsswitch.conf",
                             "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\n"));
  CLOCHE_CHECK(root.add_file("/etc/resolv.conf", ""));
  CLOCHE_CHECK(root.add_file("/etc/ssl/openssl.cnf", std::string(openssl_config)));
  // A copy: on the host it is a link, or is replaced when the time zone changes.
  if (auto zone = read_file(host + "/etc/localtime", kib(64)))
    CLOCHE_CHECK(root.add_file("/etc/localtime", std::move(*zone)));
  return {};
}

}  // namespace

Result<RootPlanner> plan_host_root(const HostRootUser& user, const std::string& host) {
  RootPlanner root;
  for (const std::string name : top_level) CLOCHE_CHECK(root.add_host_path("/" + name, host + "/" + name));
  CLOCHE_CHECK(add_generated_etc(root, user, host));
  if (const auto names = list_directory(host + "/etc")) {
    for (const std::string& name : *names) {
      if (is_wanted_of_etc(name)) CLOCHE_CHECK(root.add_copy("/etc/" + name, host + "/etc/" + name));
    }
  }
  for (const std::string path : etc_large) CLOCHE_CHECK(root.add_host_path(path, host + path));
  return root;
}

}  // namespace cloche::oci
