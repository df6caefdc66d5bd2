// Feeds any bytes to what makes a line of a result: no crash, and either nothing or one line of JSON.
#include <boost/json/parse.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dialect/e2b/interpreter/lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string line = cloche::dialect::e2b::result_line(bytes);
  if (line.empty()) return 0;
  if (line.find('\n') != line.size() - 1) std::abort();
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 128;
  const auto parsed = boost::json::parse(line, error, {}, options);
  if (error || !parsed.is_object()) std::abort();
  return 0;
}
