#include "http/server/answer/answer.hpp"

#include <fmt/format.h>

namespace cloche::http {

namespace {

bool has_no_body(unsigned status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

Result<std::string> Answer::start(unsigned status, const Fields& fields, AnswerFraming framing, std::uint64_t length) {
  if (begun()) return fail(ErrorCode::internal, "the request has already been answered");
  if (status < 200) return fail(ErrorCode::invalid_argument, "not a final response status: " + std::to_string(status));
  const bool goes_on = framing != AnswerFraming::to_the_end && to_.may_go_on();
  std::string_view connection = "close";
  if (goes_on) connection = to_.version == Version::http_1_0 ? "keep-alive" : "";
  const AnswerHead head{status, fields, framing, length, connection, to_.request_id, to_.role};
  CLOCHE_TRY(std::string text, serialise_answer_head(head));
  status_ = status;
  framing_ = framing;
  left_ = length;
  keeps_connection_ = goes_on;
  stage_ = Stage::streaming;
  return text;
}

Task<Status> Answer::respond(unsigned status, const Fields& fields, std::string_view body) {
  if (has_no_body(status) && !body.empty())
    co_return fail(ErrorCode::invalid_argument, "a response with this status has no body");
  const auto framing = has_no_body(status) ? AnswerFraming::none : AnswerFraming::length;
  CLOCHE_CO_TRY(std::string bytes, start(status, fields, framing, body.size()));
  // Head and body together, unless the copy costs more than the packet.
  constexpr std::size_t small = 64 << 10;
  if (to_.is_head) body = {};
  const bool together = body.size() <= small;
  if (together) bytes += body;
  CLOCHE_CO_CHECK(co_await client_stream_.write(bytes));
  if (!together) CLOCHE_CO_CHECK(co_await client_stream_.write(body));
  stage_ = Stage::complete;
  co_return Status{};
}

Task<Status> Answer::begin(unsigned status, const Fields& fields, std::optional<std::uint64_t> length) {
  auto framing = to_.version == Version::http_1_0 ? AnswerFraming::to_the_end : AnswerFraming::chunked;
  if (length) framing = AnswerFraming::length;
  if (has_no_body(status)) framing = AnswerFraming::none;
  CLOCHE_CO_TRY(const std::string bytes, start(status, fields, framing, length.value_or(0)));
  co_return co_await client_stream_.write(bytes);
}

Task<Status> Answer::write(std::string_view piece) {
  if (stage_ != Stage::streaming)
    co_return fail(ErrorCode::internal, "the response has not begun or has already ended");
  if (piece.empty()) co_return Status{};
  if (framing_ == AnswerFraming::none)
    co_return fail(ErrorCode::invalid_argument, "a response with this status has no body");
  if (framing_ == AnswerFraming::length) {
    if (piece.size() > left_)
      co_return fail(ErrorCode::internal, "the response body is longer than its Content-Length");
    left_ -= piece.size();
  }
  if (to_.is_head) co_return Status{};
  if (framing_ != AnswerFraming::chunked) co_return co_await client_stream_.write(piece);
  std::string chunk = fmt::format("{:x}\r\n", piece.size());
  chunk.append(piece).append("\r\n");
  co_return co_await client_stream_.write(chunk);
}

Task<Status> Answer::end() {
  if (stage_ != Stage::streaming)
    co_return fail(ErrorCode::internal, "the response has not begun or has already ended");
  const bool short_of_it = framing_ == AnswerFraming::length && left_ > 0 && !to_.is_head;
  if (short_of_it) co_return fail(ErrorCode::internal, "the response body is shorter than its Content-Length");
  if (framing_ == AnswerFraming::chunked && !to_.is_head) {
    const std::string_view last = "0\r\n\r\n";
    CLOCHE_CO_CHECK(co_await client_stream_.write(last));
  }
  stage_ = Stage::complete;
  co_return Status{};
}

Task<Status> Answer::switch_protocols(const Fields& fields) {
  const AnswerHead head{101, fields, AnswerFraming::none, 0, "Upgrade", to_.request_id, to_.role};
  CLOCHE_CO_TRY(const std::string bytes, serialise_answer_head(head));
  CLOCHE_CO_CHECK(hand_over(101));
  co_return co_await client_stream_.write(bytes);
}

Task<Status> Answer::accept_tunnel() {
  const Fields none;
  const AnswerHead head{200, none, AnswerFraming::none, 0, "", to_.request_id, to_.role};
  CLOCHE_CO_TRY(const std::string bytes, serialise_answer_head(head));
  CLOCHE_CO_CHECK(hand_over(200));
  co_return co_await client_stream_.write(bytes);
}

Status Answer::hand_over(unsigned status) {
  if (begun()) return fail(ErrorCode::internal, "the request has already been answered");
  status_ = status;
  stage_ = Stage::switched;
  return {};
}

}  // namespace cloche::http
