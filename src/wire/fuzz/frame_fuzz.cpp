// The frame decoder on any bytes, split anywhere: it neither crashes nor buffers more than it was fed, the split
// changes nothing, and what it hands out is written back as the very frame it was.
//
// Input: a byte whose low bit says what a broken seal does and whose other bits say how many sizes follow; the sizes of
// the pieces, taken in turn; the bytes.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/frame.hpp"

namespace {

using cloche::wire::Frame;
using cloche::wire::FrameDecoder;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Heard {
  std::string frames;  // written again, one after the other
  std::size_t count = 0;
  std::string error;
  bool operator==(const Heard&) const = default;
};

std::string written(const Frame& frame) {
  std::string bytes;
  cloche::wire::append_frame(bytes, frame);
  return bytes;
}

class Listener {
 public:
  explicit Listener(FrameDecoder::OnBrokenSeal on_broken_seal) : decoder_(on_broken_seal) {}

  void hear(std::string_view bytes) {
    if (!heard_.error.empty()) return;
    // A copy of just this size, so that reading past it is noticed.
    const std::vector<char> piece(bytes.begin(), bytes.end());
    fed_ += piece.size();
    decoder_.feed({piece.data(), piece.size()});
    for (;;) {
      const auto frame = decoder_.next();
      require(heard_.frames.size() + decoder_.buffered() <= fed_);
      if (!frame) {
        heard_.error = frame.error().message;
        return;
      }
      if (!*frame) return;
      require((*frame)->payload.size() <= cloche::wire::max_payload && (*frame)->lane < cloche::wire::lane::count);
      heard_.frames += written(**frame);
      ++heard_.count;
    }
  }

  const Heard& heard() const { return heard_; }

 private:
  FrameDecoder decoder_;
  std::size_t fed_ = 0;
  Heard heard_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto mode = (data[0] & 1) != 0 ? FrameDecoder::OnBrokenSeal::drop : FrameDecoder::OnBrokenSeal::error;
  const std::size_t size_count = data[0] >> 1;
  if (1 + size_count > size) return 0;
  const std::span sizes(data + 1, size_count);
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1 + size_count), size - 1 - size_count);

  Listener whole(mode);
  whole.hear(bytes);
  Listener split(mode);
  std::string_view rest = bytes;
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const auto piece = rest.substr(0, sizes.empty() ? 1 : sizes[i % sizes.size()] + std::size_t{1});
    split.hear(piece);
    rest.remove_prefix(piece.size());
  }
  require(whole.heard() == split.heard());

  // What it understood, it understands again.
  Listener again(FrameDecoder::OnBrokenSeal::error);
  again.hear(whole.heard().frames);
  require(again.heard().error.empty() && again.heard().frames == whole.heard().frames);
  return 0;
}
