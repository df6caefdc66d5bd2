// Feeds the demultiplexer any bytes, split two ways: both must say the same, and never more than came in.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/docker/engine/demultiplexer.hpp"

namespace {

using cloche::Stream;
using cloche::docker::Demultiplexer;

struct Heard {
  std::string out;
  std::string err;
  bool broken = false;
  bool between_pieces = true;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view all, std::size_t piece) {
  Heard heard;
  Demultiplexer demultiplexer;
  while (!all.empty() && !heard.broken) {
    std::string_view part = all.substr(0, piece);
    all.remove_prefix(part.size());
    for (;;) {
      const auto next = demultiplexer.next(part);
      heard.broken = !next;
      if (!next || !*next) break;
      if ((*next)->bytes.empty()) std::abort();
      ((*next)->stream == Stream::out ? heard.out : heard.err) += (*next)->bytes;
    }
  }
  heard.between_pieces = demultiplexer.is_between_pieces();
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  const Heard whole = hear(all, all.size() + 1);
  const Heard split = hear(all, piece);
  if (!(whole == split) || whole.out.size() + whole.err.size() > all.size()) std::abort();
  return 0;
}
