// The relay's decoder and a side of a conversation on any bytes, split anywhere: no crash, no more memory than the
// window, the split changes nothing, and what is understood is written back as the very bytes it was.
//
// Input: a byte that says how many sizes follow; the sizes of the pieces, taken in turn; the bytes: a handshake, then
// frames.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/protocol.hpp"
#include "relay/side.hpp"

namespace {

using namespace cloche::relay;

constexpr std::size_t small_window = 300;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Heard {
  std::string frames;  // written again, one after the other
  std::string passed_on;
  std::string error;
  bool operator==(const Heard&) const = default;
};

class Listener {
 public:
  Listener() {
    side_.write(std::string(small_window, 'w'));
    std::string sent;
    side_.append_data_to(sent, small_window / 2);
  }

  void hear(std::string_view bytes) {
    // A copy of just this size, so that reading past it is noticed.
    const std::vector<char> piece(bytes.begin(), bytes.end());
    std::string_view rest(piece.data(), piece.size());
    while (!rest.empty() && heard_.error.empty()) {
      const std::size_t taken = decoder_.feed(rest);
      require(taken > 0);
      rest.remove_prefix(taken);
      while (take_next()) {
      }
    }
  }

  const Heard& heard() const { return heard_; }

 private:
  bool take_next() {
    const auto frame = decoder_.next();
    require(decoder_.buffered() <= 2 * (header_size + max_payload));
    if (!frame) heard_.error = frame.error().message;
    if (!frame || !*frame) return false;
    switch ((*frame)->type) {
      case FrameType::data: append_data(heard_.frames, (*frame)->payload); break;
      case FrameType::ack: append_ack(heard_.frames, (*frame)->consumed); break;
      case FrameType::end: append_end(heard_.frames, (*frame)->reason, (*frame)->agent_status); return true;
    }
    const auto taken = side_.take(**frame);
    if (!taken) {
      heard_.error = taken.error().message;
      return false;
    }
    require(side_.readable().size() <= small_window && side_.room() <= small_window);
    // A reader that is behind by a part, which depends on the bytes alone.
    const std::size_t count = side_.readable().size() / 2 + 1;
    if (count <= side_.readable().size()) {
      heard_.passed_on += side_.readable().substr(0, count);
      side_.consume(count);
    }
    if (side_.unannounced() > small_window / 4) {
      std::string ack;
      side_.append_ack_to(ack);
    }
    return true;
  }

  Decoder decoder_;
  Side side_{small_window};
  Heard heard_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t size_count = data[0];
  if (1 + size_count > size) return 0;
  const std::span sizes(data + 1, size_count);
  std::string_view bytes(reinterpret_cast<const char*>(data + 1 + size_count), size - 1 - size_count);

  if (bytes.size() >= handshake_size) {
    const std::vector<char> first(bytes.begin(), bytes.begin() + handshake_size);
    const auto handshake = decode_handshake(std::span<const char, handshake_size>(first.data(), handshake_size));
    if (handshake) {
      require(encode(*handshake) == bytes.substr(0, handshake_size));
      Side side(small_window);
      require(side.continue_at(handshake->consumed).has_value() == (handshake->consumed == 0));
      bytes.remove_prefix(handshake_size);
    }
  }

  Listener whole;
  whole.hear(bytes);
  Listener split;
  for (std::size_t i = 0; !bytes.empty(); ++i) {
    const auto piece = bytes.substr(0, sizes.empty() ? 1 : sizes[i % sizes.size()] + std::size_t{1});
    split.hear(piece);
    bytes.remove_prefix(piece.size());
  }
  require(whole.heard() == split.heard());
  return 0;
}
