// Feeds the reader of script events any bytes, split as the first byte says: no crash, nothing kept beyond its limits,
// the same events however the bytes are split, and data that is JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "json/raw_json.hpp"
#include "script/event_reader.hpp"

namespace {

using namespace cloche;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr EventLimits limits{.line = 256, .bytes = 2048, .events = 8};

std::vector<ScriptEvent> read(std::string_view bytes, std::size_t piece) {
  EventReader reader(limits);
  std::vector<ScriptEvent> events;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    reader.feed(part);
    while (auto event = reader.next()) events.push_back(std::move(*event));
    require(reader.buffered() <= limits.line + piece);
  }
  while (auto event = reader.finish()) events.push_back(std::move(*event));
  require(events.size() <= limits.events + 2);
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto events = read(all, piece);
  for (const auto& event : events) {
    require(check_json(to_json(event)).has_value());
    require(to_json(event).find('\n') == std::string::npos);
    require(!std::holds_alternative<ScriptDoneEvent>(event));
  }
  // Where the limits on the whole are not met, a split changes nothing.
  if (all.size() <= limits.bytes) require(read(all, 1) == events);
  return 0;
}
