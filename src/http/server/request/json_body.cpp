#include "http/server/request/json_body.hpp"

#include "core/async/event.hpp"
#include "http/grammar.hpp"
#include "http/server/exchange_parts.hpp"
#include "json/write_json.hpp"

namespace cloche::http {

namespace {

std::string_view take_part(std::string_view& text) {
  const auto end = std::min(text.find(';'), text.size());
  const std::string_view part = without_blanks_around(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// Large bodies share what the server's thread reads of them: so much in a millisecond, all together, however fast their
// clients are.
class LargeBody {
 public:
  explicit LargeBody(ServerState& server) : server_(server) { ++server_.large_bodies; }
  LargeBody(const LargeBody&) = delete;
  LargeBody& operator=(const LargeBody&) = delete;
  ~LargeBody() { --server_.large_bodies; }

  Task<> wait_for_turn() const { return pause_for(std::chrono::milliseconds(1) * server_.large_bodies); }

 private:
  ServerState& server_;
};

bool is_json(std::string_view type) {
  constexpr std::string_view family = "application/";
  constexpr std::string_view suffix = "+json";
  if (same_word(type, "application/json")) return true;
  return type.size() > family.size() + suffix.size() && same_word(type.substr(0, family.size()), family) &&
         same_word(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace

Status check_json_type(std::string_view content_type) {
  std::string_view rest = content_type;
  if (!is_json(take_part(rest))) {
    return fail(ErrorCode::unsupported, "the body must have the Content-Type application/json");
  }
  while (!rest.empty()) {
    const std::string_view parameter = take_part(rest);
    const bool other_charset = same_word(parameter.substr(0, 8), "charset=") &&
                               !same_word(parameter, "charset=utf-8") && !same_word(parameter, "charset=\"utf-8\"");
    if (other_charset) return fail(ErrorCode::unsupported, "the charset of JSON must be UTF-8");
  }
  return {};
}

Result<boost::json::value> parse_json(std::string_view text, std::size_t depth) {
  JsonRules rules;
  rules.depth = depth;
  JsonReader reader(rules);
  CLOCHE_CHECK(reader.feed(text));
  return reader.finish();
}

Task<Result<JsonIntake>> take_json(Exchange& exchange, JsonLimits limits) {
  if (auto type = check_json_type(exchange.field("Content-Type")); !type) {
    exchange.reject_body(415, type.error().message);
    co_return fail(std::move(type).error());
  }
  CLOCHE_CO_CHECK(exchange.hold_body(limits.size));
  JsonRules rules;
  rules.depth = limits.depth;
  rules.values = limits.values;
  rules.shape = limits.shape;
  const auto reader = std::make_shared<JsonReader>(rules);
  JsonIntake intake{reader, 0};
  std::optional<LargeBody> large;
  for (;;) {
    if (large) co_await large->wait_for_turn();
    CLOCHE_CO_TRY(std::string piece, co_await exchange.read_some());
    if (piece.empty()) co_return intake;
    intake.size += piece.size();
    if (intake.size > small_work && !large) large.emplace(ExchangeAccess::parts(exchange).server);
    auto feed = [reader, piece = std::move(piece)] { return reader->feed(piece); };
    auto fed = co_await run_off_loop(exchange, intake.size, std::move(feed));
    if (fed) continue;
    if (fed.error().code == ErrorCode::limit_reached) exchange.reject_body(413, fed.error().message);
    co_return fail(std::move(fed).error());
  }
}

Task<Result<boost::json::value>> read_json(Exchange& exchange, JsonLimits limits) {
  auto intake = co_await take_json(exchange, limits);
  if (!intake) co_return fail(std::move(intake).error());
  auto finish = [reader = std::move(intake->reader)] { return reader->finish(); };
  auto value = co_await run_off_loop(exchange, intake->size, std::move(finish));
  co_return value;
}

namespace {

Task<Status> respond_text(Exchange& exchange, unsigned status, std::string text) {
  Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  co_return co_await exchange.respond(status, std::move(fields), std::move(text));
}

}  // namespace

Task<Status> respond_json(Exchange& exchange, unsigned status, const boost::json::value& body) {
  auto write = [&body]() -> Result<std::string> { return write_json(body); };
  const std::size_t size = json_weight(body, small_work);
  CLOCHE_CO_TRY(std::string text, co_await run_off_loop(exchange, size, std::move(write)));
  co_return co_await respond_text(exchange, status, std::move(text));
}

Task<Status> respond_json(Exchange& exchange, unsigned status, std::function<boost::json::value()> make,
                          std::size_t size) {
  auto write = [make = std::move(make)]() -> Result<std::string> { return write_json(make()); };
  CLOCHE_CO_TRY(std::string text, co_await run_off_loop(exchange, size, std::move(write)));
  co_return co_await respond_text(exchange, status, std::move(text));
}

}  // namespace cloche::http
