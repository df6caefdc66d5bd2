// Whatever a server sends after the upgrade: no crash, no message beyond its limit, and the same in any pieces.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "http/websocket_frames.hpp"

namespace {

using namespace cloche;
using namespace cloche::http;

constexpr Bytes largest = kib(4);

std::vector<std::string> read(std::string_view bytes, std::size_t piece) {
  ServerFrames frames(largest);
  std::vector<std::string> seen;
  while (!bytes.empty()) {
    frames.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      auto frame = frames.next();
      if (!frame) return seen;
      if (!*frame) break;
      if ((*frame)->payload.size() > largest.count || (*frame)->kind == FrameKind::continuation) std::abort();
      seen.push_back(std::move((*frame)->payload));
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (read(bytes, size + 1) != read(bytes, 3)) std::abort();
  return 0;
}
