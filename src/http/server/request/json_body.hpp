// JSON in the body of a request, and in that of an answer. Large ones are read and written on the server's workers, in
// pieces, so that they hold up no other request.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "http/server/off_loop.hpp"
#include "json/json_reader.hpp"

namespace cloche::http {

struct JsonLimits {
  Bytes size = mib(1);
  std::size_t depth = 32;
  std::size_t values = 20'000;  // and keys, in all
  const Shape* shape = &shapes::anything;
};

// A body that has been read and checked as it came. What is left to do costs time in proportion to its size.
struct JsonIntake {
  std::shared_ptr<JsonReader> reader;
  std::size_t size = 0;
};

// Reads the body as JSON. `unsupported` if it has another type (415); `invalid_argument` if it is not JSON in UTF-8, is
// nested too deeply or does not have the shape; `limit_reached` if it has too many values (413) or there is no memory
// for it (429, 503); otherwise as `Exchange::read_body`. An invalid body is rejected at the first piece that shows it.
Task<Result<JsonIntake>> take_json(Exchange& exchange, JsonLimits limits);
Task<Result<boost::json::value>> read_json(Exchange& exchange, JsonLimits limits = {});

// The same, and what `read` makes of it. `read` is pure: it may run on another thread.
template <class Body, class Read>
Task<Result<Body>> read_json_as(Exchange& exchange, JsonLimits limits, Read read) {
  auto intake = co_await take_json(exchange, limits);
  if (!intake) co_return fail(std::move(intake).error());
  auto convert = [reader = std::move(intake->reader), read = std::move(read)]() mutable -> Result<Body> {
    auto value = reader->finish();
    reader.reset();
    if (!value) return fail(std::move(value).error());
    return read(*value);
  };
  auto body = co_await run_off_loop(exchange, intake->size, std::move(convert));
  co_return body;
}

// The parts of it that need no I/O.
Status check_json_type(std::string_view content_type);
Result<boost::json::value> parse_json(std::string_view text, std::size_t depth);

Task<Status> respond_json(Exchange& exchange, unsigned status, const boost::json::value& body);
// The same when already the making of the value costs time: `make` is pure, and `size` about what it makes.
Task<Status> respond_json(Exchange& exchange, unsigned status, std::function<boost::json::value()> make,
                          std::size_t size);

}  // namespace cloche::http
