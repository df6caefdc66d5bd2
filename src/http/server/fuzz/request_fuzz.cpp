// Feeds the reader of requests any bytes, split as the first byte says: no crash, nothing over its limit, the same
// result however they are split, and where Beast's reader takes the request too, both must have read the same.
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/server/request/body_decoder.hpp"
#include "http/server/request/request_head.hpp"

namespace {

using namespace cloche::http;

constexpr std::size_t most_body = 4096;

struct Read {
  RequestHead head;
  std::string body;
  std::size_t used = 0;
  bool complete = false;
};

void require(bool holds) {
  if (!holds) std::abort();
}

OrRequestError<Read> read(std::string_view all, std::size_t piece) {
  HeadLimits limits;
  limits.size = {1024};
  limits.request_line = {512};
  limits.fields = 16;
  HeadFinder finder(limits);
  Read result;
  std::size_t have = 0;
  while (result.used == 0) {
    if (have == all.size()) return result;
    have = std::min(all.size(), have + piece);
    const auto end = finder.find(all.substr(0, have));
    if (!end) return std::unexpected(end.error());
    if (*end) result.used = **end;
  }
  require(result.used <= limits.size.count + 2);
  // A proxy reads the same head, except for the target.
  const auto proxied = parse_head(all.substr(0, result.used), Role::proxy);
  auto head = parse_head(all.substr(0, result.used));
  if (head && proxied) require(head->fields == proxied->fields && head->framing.length == proxied->framing.length);
  if (!head) return std::unexpected(head.error());
  require(head->fields.size() <= limits.fields);
  result.head = std::move(*head);
  BodyDecoder decoder(result.head.framing);
  while (!decoder.done() && result.body.size() < most_body) {
    const std::size_t room = std::min(piece, most_body - result.body.size());
    const std::size_t had = result.body.size();
    const auto used = decoder.feed(all.substr(result.used, have - result.used), result.body, room);
    if (!used) return std::unexpected(used.error());
    require(*used <= have - result.used && result.body.size() - had <= room);
    result.used += *used;
    if (*used > 0) continue;
    if (have == all.size()) return result;
    have = std::min(all.size(), have + piece);
  }
  result.complete = decoder.done();
  return result;
}

// Where two readers of one request disagree, one request can be hidden in another.
void compare_with_beast(const Read& ours, std::string_view all) {
  namespace http = boost::beast::http;
  http::request_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.eager(true);
  boost::beast::error_code code;
  const std::size_t used = parser.put(boost::asio::const_buffer(all.data(), all.size()), code);
  if (code || !parser.is_done()) return;
  const auto& theirs = parser.get();
  require(used == ours.used);
  require(std::string_view(theirs.method_string().data(), theirs.method_string().size()) == ours.head.method);
  require(theirs.body() == ours.body);
  // Beast takes trailers for fields, Connection among them.
  const bool comparable = !ours.head.framing.chunked && theirs.count("Proxy-Connection") == 0;
  require(!comparable || theirs.keep_alive() == ours.head.keeps_alive);
  for (const auto& [name, value] : ours.head.fields) {
    const auto range = theirs.equal_range(name);
    require(std::any_of(range.first, range.second,
                        [&](const auto& f) { return std::string_view(f.value().data(), f.value().size()) == value; }));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto pieces = read(all, data[0] + std::size_t{1});
  const auto whole = read(all, all.size() + 1);
  require(pieces.has_value() == whole.has_value());
  if (!whole) {
    require(whole.error().status == pieces.error().status && whole.error().status >= 400);
    return 0;
  }
  require(whole->used == pieces->used && whole->body == pieces->body && whole->complete == pieces->complete);
  for (const auto& segment : whole->head.target.segments) {
    require(segment != "." && segment != ".." && segment.find('\0') == std::string::npos);
  }
  (void)parse_query(whole->head.target.query);
  if (whole->complete) compare_with_beast(*whole, all);
  return 0;
}
