// Requests of Connect's clients: streams of envelopes, and messages in JSON whose fields have any type. Pieces of any
// size give the same messages as the whole.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "connect/envelope.hpp"
#include "dialect/e2b/connect/proto_object.hpp"
#include "json/strict_json.hpp"

namespace {

using namespace cloche;
using namespace cloche::connect;
using namespace cloche::dialect::e2b::connect;

std::vector<std::string> messages_of(Sender sender, std::string_view bytes, std::size_t piece) {
  EnvelopeReader reader(sender, 1024);
  std::vector<std::string> all;
  for (;;) {
    auto next = reader.next();
    if (!next) break;
    if (*next) {
      all.push_back((*next)->message);
      continue;
    }
    if (bytes.empty()) break;
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return all;
}

void read_fields(std::string_view text) {
  constexpr std::array names = {EnumName{"A", 1}};
  const auto value = parse_strict_json(text, 32);
  if (!value) return;
  const auto object = ProtoObject::of(*value);
  if (!object) return;
  for (const char* name : {"a", "bC", "process"}) {
    (void)object->text(name);
    (void)object->flag(name);
    (void)object->uint32(name);
    (void)object->bytes(name);
    (void)object->enumeration(name, names);
    (void)object->texts(name);
    (void)object->text_map(name);
    (void)object->message(name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = messages_of(Sender::client, bytes, size + 1);
  if (whole != messages_of(Sender::client, bytes, 1)) abort();
  if (messages_of(Sender::server, bytes, size + 1) != messages_of(Sender::server, bytes, 1)) abort();
  for (const std::string& message : whole) read_fields(message);
  read_fields(bytes);
  return 0;
}
