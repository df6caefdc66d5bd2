#include "http/response_reader.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace cloche::http {

namespace beast = boost::beast;

namespace {

Error reader_error(const beast::error_code& code) {
  const bool too_long = code == beast::http::error::header_limit || code == beast::http::error::body_limit;
  return Error{too_long ? ErrorCode::limit_reached : ErrorCode::protocol, "read response: " + code.message()};
}

}  // namespace

// Beast calls these with what it found.
class ResponseReader::Parser final : public beast::http::basic_parser<false> {
 public:
  Response head;
  std::string body;

 private:
  using error_code = beast::error_code;
  using string_view = beast::string_view;

  void on_request_impl(beast::http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view reason, int, error_code&) override {
    head.status = static_cast<unsigned>(code);
    head.reason.assign(reason.data(), reason.size());
  }
  void on_field_impl(beast::http::field, string_view name, string_view value, error_code&) override {
    head.fields.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view piece, error_code&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code&) override {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  void on_finish_impl(error_code&) override {}
};

ResponseReader::ResponseReader(ReaderLimits limits, BodyRule rule) : parser_(std::make_unique<Parser>()) {
  parser_->header_limit(static_cast<std::uint32_t>(limits.head.count));
  parser_->body_limit(limits.body.count);
  parser_->skip(rule == BodyRule::none);
  // Step by step, so that a caller can stop between head and body.
  parser_->eager(false);
}

ResponseReader::~ResponseReader() = default;

Result<std::size_t> ResponseReader::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !parser_->is_done()) {
    // Beast asserts that it sees the end of a chunked body whole. At least so many bytes always come between chunks.
    constexpr std::size_t shortest_end = std::string_view("0\r\n\r\n").size();
    if (parser_->is_header_done() && parser_->chunked() && bytes.size() - used < shortest_end) break;
    beast::error_code code;
    const bool had_head = parser_->is_header_done();
    const std::size_t step = parser_->put(asio::const_buffer(bytes.data() + used, bytes.size() - used), code);
    used += step;
    if (code == beast::http::error::need_more) break;
    if (code) return fail(reader_error(code));
    if (!had_head && parser_->is_header_done()) break;
  }
  return used;
}

Status ResponseReader::end_of_stream() {
  if (!parser_->got_some()) return fail(ErrorCode::unavailable, "the server closed the connection without a response");
  beast::error_code code;
  parser_->put_eof(code);
  if (code) return fail(ErrorCode::unavailable, "the server closed the connection in the middle of its response");
  return {};
}

bool ResponseReader::head_done() const { return parser_->is_header_done(); }
bool ResponseReader::done() const { return parser_->is_done(); }
bool ResponseReader::keeps_alive() const { return parser_->is_done() && parser_->keep_alive() && !parser_->need_eof(); }
const Response& ResponseReader::head() const { return parser_->head; }
std::string ResponseReader::take_body() { return std::exchange(parser_->body, {}); }

}  // namespace cloche::http
