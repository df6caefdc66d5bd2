// The intake on any bytes, split anywhere: what comes out is an archive that stays inside and within the limits, in
// pieces within theirs, and the split changes nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "archive/tar_reader.hpp"
#include "snapshot/intake.hpp"
#include "snapshot/manifest.hpp"

namespace {

using namespace cloche;

constexpr snapshot::IntakeLimits limits{.content = mib(2), .entries = 20};

void require(bool condition) {
  if (!condition) std::abort();
}

struct TakenIn {
  bool good = false;
  std::string stream;
};

TakenIn take_in(std::string_view bytes, std::size_t step) {
  TakenIn taken;
  snapshot::IntakeCounts counts;
  snapshot::Intake intake(limits, counts, {"left/out"}, [&](std::string_view piece) {
    require(!piece.empty() && piece.size() <= snapshot::most_of_piece);
    taken.stream += piece;
    return Status();
  });
  while (!bytes.empty()) {
    const std::string part(bytes.substr(0, step));
    bytes.remove_prefix(part.size());
    if (!intake.feed(part)) return taken;
  }
  taken.good = intake.finish().has_value();
  require(counts.content <= limits.content.count && counts.entries <= limits.entries);
  return taken;
}

void check(const std::string& stream) {
  tar::Reader reader;
  reader.feed(stream);
  std::uint64_t entries = 0;
  for (;;) {
    const auto event = reader.next();
    require(event.has_value());
    if (*event == tar::Reader::Event::more) break;
    if (*event != tar::Reader::Event::entry) continue;
    const tar::Entry& entry = reader.entry();
    require(++entries <= limits.entries && !entry.path.empty() && entry.type != tar::EntryType::hardlink);
    require(("/" + entry.path + "/").find("/../") == std::string::npos && !entry.path.starts_with('/'));
    require(entry.path != "left/out" && !entry.path.starts_with("left/out/"));
  }
  require(reader.finish().has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const TakenIn whole = take_in(bytes, size + 1);
  if (whole.good) check(whole.stream);
  for (const std::size_t step : {std::size_t{1}, std::size_t{512}}) {
    const TakenIn split = take_in(bytes, step);
    require(split.good == whole.good && (!whole.good || split.stream == whole.stream));
  }
  return 0;
}
