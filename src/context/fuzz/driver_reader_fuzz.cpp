// Feeds the reader of a context's records any bytes, split as the first byte says, and what is in the records to what
// parses it further: no crash, nothing kept beyond the limit, the same records however the bytes are split, and nothing
// believed that could name another file or process.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "context/cell.hpp"
#include "context/command.hpp"
#include "context/driver_reader.hpp"

namespace {

using namespace cloche;

constexpr std::size_t longest = 512;

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<DriverEvent> read(std::string_view bytes, std::size_t piece) {
  DriverReader reader(longest);
  std::vector<DriverEvent> events;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    reader.feed(part);
    for (;;) {
      auto event = reader.next();
      if (!event || !*event) break;
      events.push_back(std::move(**event));
    }
    require(reader.buffered() <= longest + piece);
  }
  return events;
}

void look_at(const DriverBegin& begin) {
  const CommandBegin parsed = parse_begin(begin.rest);
  require(!parsed.mark.empty() && parsed.mark.find_first_not_of("0123456789") == std::string::npos);
}

void look_at(const DriverEnd& end) {
  const std::string prefix = "/w/f-";
  CellResult result;
  if (take_report(end.rest, prefix, result)) {
    require(result.figures.size() <= most_figures);
    for (const auto& path : result.figures) {
      require(path.starts_with(prefix) && path.ends_with(".png") && path.find('/', prefix.size()) == std::string::npos);
    }
  }
  if (const auto parsed = parse_end(end.rest)) require(parsed->exit_code >= 0 && parsed->exit_code <= 255);
}

void look_at(const DriverDisplay& display) { require(display.id.size() <= DriverReader::longest_id); }

void look_at(const DriverLeaving& leaving) { require(leaving.id.size() <= DriverReader::longest_id); }

void look_at(const DriverReady& ready) { require(ready.pid > 1); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto events = read(all, piece);
  require(read(all, 1) == events);
  for (const auto& event : events) std::visit([](const auto& told) { look_at(told); }, event);
  // A command is one line, whatever is in it.
  const std::string line = to_driver_line("0a", "", all);
  require(line.find('\n') == line.size() - 1 && line.find('\0') == std::string::npos);
  return 0;
}
