#include "backend/oci/root/host_root.hpp"

#include <algorithm>
#include <array>

#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

constexpr std::array top_level = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
// Small, and copied.
constexpr std::array etc_exact = {"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "matplotlibrc", "mime.types"};
// Hundreds of links each, and mounted.
constexpr std::array etc_large = {"/etc/alternatives", "/etc/ssl/certs"};

bool is_wanted_of_etc(std::string_view name) {
  return std::ranges::find(etc_exact, name) != etc_exact.end() || name.starts_with("ca-certificates") ||
         name.starts_with("python3") || (name.starts_with("java-") && name.ends_with("-openjdk"));
}

// A home that would break the lines of /etc/passwd is not written there.
std::string passwd_home(const std::string& home) {
  const bool plain = std::ranges::all_of(home, [](unsigned char c) { return c >= ' ' && c != ':' && c != 0x7f; });
  return plain ? home : "/";
}

Status add_generated_etc(RootPlanner& root, const HostRootUser& user, const std::string& host) {
  const std::string uid = std::to_string(user.uid);
  const std::string gid = std::to_string(user.gid);
  CLOCHE_CHECK(root.add_file("/etc/passwd",
                             "root:x:0:0:root:/:/bin/sh\n"
                             "sandbox:x:" +
                                 uid + ":" + gid + ":sandbox:" + passwd_home(user.home) +
                                 ":/bin/sh\n"
                                 // lint-words: allow
                                 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"));
  CLOCHE_CHECK(root.add_file("/etc/group", "root:x:0:\nsandbox:x:" + gid + ":\nnogroup:x:65534:\n"));
  CLOCHE_CHECK(
      root.add_file("/etc/hosts", "127.0.0.1\tlocalhost " + user.hostname + "\n::1\tlocalhost ip6-localhost\n"));
  CLOCHE_CHECK(root.add_file("/etc/hostname", user.hostname + "\n"));
  CLOCHE_CHECK(root.add_file("/etc/nsswitch.conf",
                             "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\n"));
  CLOCHE_CHECK(root.add_file("/etc/resolv.conf", ""));
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
