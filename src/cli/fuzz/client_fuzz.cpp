// What a hostile service can send to a command: events and frames, in any pieces. The parser must not crash, and the
// result must not depend on the pieces.
#include <cstdint>
#include <cstdlib>

#include "cli/client/event_parser.hpp"
#include "cli/client/websocket_frames.hpp"

namespace {

using namespace cloche;
using namespace cloche::cli;

constexpr Bytes most{4096};

std::string events_of(std::string_view bytes, std::size_t piece) {
  EventParser parser(most);
  std::string all;
  while (!bytes.empty()) {
    auto events = parser.feed(bytes.substr(0, piece));
    if (!events) return all + "refused";
    for (const StreamEvent& event : *events) {
      if (event.data.size() > most.count) std::abort();
      all += event.name + "\1" + event.id + "\1" + event.data + "\1";
    }
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return all;
}

std::string messages_of(std::string_view bytes, std::size_t piece) {
  FrameDecoder decoder(most);
  std::string all;
  while (!bytes.empty()) {
    decoder.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      auto message = decoder.next();
      if (!message) return all + "refused";
      if (!*message) break;
      if ((*message)->data.size() > most.count) std::abort();
      all += static_cast<char>((*message)->opcode);
      all += (*message)->data + "\1";
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 32;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Data that is too long is rejected sooner or later, depending on the pieces; everything else is the same.
  if (size < most.count && events_of(bytes, piece) != events_of(bytes, size)) std::abort();
  events_of(bytes, piece);
  if (messages_of(bytes, piece) != messages_of(bytes, size)) std::abort();
  return 0;
}
