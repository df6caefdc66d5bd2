// A configuration of any bytes: it is read or refused, in bounded time and memory, and a refusal says something that
// can be printed on a terminal.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = cloche::config::parse_config(text, "cloche.yml", {{"TOKEN", "secret"}});
  if (config) {
    for (const auto& profile : config->manager.profiles) {
      if (profile.pool.pool_size > profile.pool.scale_limit || profile.pool.scale_limit == 0) std::abort();
      if (profile.sandbox.uid == 0 || profile.sandbox.gid == 0) std::abort();
    }
    return 0;
  }
  if (config.error().code != cloche::ErrorCode::invalid_argument) std::abort();
  for (const char c : config.error().message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  }
  return 0;
}
