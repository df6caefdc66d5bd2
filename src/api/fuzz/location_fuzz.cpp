// Redirects of servers in sandboxes, as a hostile server may write them: a result that starts with a slash is below the
// prefix and does not change when it is rewritten again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/proxy/location.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::api;
  ProxyPlace place;
  place.prefix = "/p/8000";
  place.path = "/a/b";
  place.port = 8000;
  place.service = {{"svc.example", 8080}, {"localhost", 8080}};
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  const auto moved = proxied_url(url, place);
  if (!moved || !moved->starts_with('/') || moved->starts_with("//")) return 0;
  if (!moved->starts_with(place.prefix)) abort();
  const auto again = proxied_url(*moved, place);
  if (!again || *again != *moved) abort();
  return 0;
}
