// Feeds the reader of HTTP responses any bytes, split as the first byte says: no crash, no body over its limit.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/response_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  if (size == 0) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  http::ReaderLimits limits;
  limits.head = {1024};
  limits.body = {2048};
  http::ResponseReader reader(limits, http::BodyRule::as_announced);
  std::string buffer;
  std::size_t body = 0;
  while (!all.empty() && !reader.done()) {
    buffer += all.substr(0, piece);
    all.remove_prefix(std::min(piece, all.size()));
    for (std::size_t used = 1; used > 0 && !reader.done();) {
      const auto fed = reader.feed(buffer);
      if (!fed) return 0;
      used = *fed;
      if (used > buffer.size()) std::abort();
      buffer.erase(0, used);
    }
    body += reader.take_body().size();
    if (body > limits.body.count) std::abort();
  }
  if (!reader.done()) (void)reader.end_of_stream();
  (void)reader.keeps_alive();
  return 0;
}
