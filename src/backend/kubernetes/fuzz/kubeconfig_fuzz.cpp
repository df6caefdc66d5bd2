// Whatever is in a kubeconfig, or what a credential plugin prints: no crash, and what is accepted can be used.
#include <cstdint>
#include <cstdlib>

#include "backend/kubernetes/access/kubeconfig.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::kubernetes;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto access = read_kubeconfig({{text, "/d"}}, "");
  if (access) {
    if (!access->server.starts_with("https://")) std::abort();
    if (access->certificate.empty() != access->key.empty()) std::abort();
    if (!access->namespace_name.empty() && !is_object_name(access->namespace_name)) std::abort();
    if (access->token.find('\n') != std::string::npos) std::abort();
  }
  const auto credential = read_plugin_credential(text);
  if (credential && credential->token.find('\n') != std::string::npos) std::abort();
  return 0;
}
