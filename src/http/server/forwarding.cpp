#include "http/server/forwarding.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/async/event.hpp"
#include "core/async/first_of.hpp"

namespace cloche::http {

namespace {

constexpr int most_informational = 8;
constexpr std::size_t read_size = std::size_t{64} << 10;
// Between the parts of a body only short lines stay unread.
constexpr std::size_t longest_unread = std::size_t{128} << 10;
// A server that closes its input may already have said why.
constexpr std::chrono::seconds time_for_last_words{2};

// None where the body is framed otherwise.
std::optional<Bytes> announced_size(const Response& head) {
  if (!head.field("Transfer-Encoding").empty()) return std::nullopt;
  const std::string_view text = head.field("Content-Length");
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Bytes{size};
}

bool is_informational(unsigned status) { return status >= 100 && status < 200; }

Status check_final(unsigned status) {
  if (status >= 200 && status <= 599) return {};
  return fail(ErrorCode::protocol,
              "its status is " + std::to_string(status) + ", which is not valid for a final response");
}

}  // namespace

Task<Status> Forwarding::serve() {
  exchange_.allow_body(rules_.request);
  auto work = request_.upgrades ? serve_upgrade() : exchange_messages();
  co_return co_await std::move(work);
}

Task<Status> Forwarding::exchange_messages() {
  // At once: a server may answer before it has read everything.
  Status failure;
  auto ended = co_await first_of(receive(), send_or_fail(failure), watch(rules_.timeout));
  if (auto* received = std::get_if<0>(&ended)) co_return std::move(*received);
  if (ended.index() == 1) co_return failure;
  co_return fail(ErrorCode::timeout, "it did not respond in time");
}

// Returns only when it fails; the answer is what is waited for.
Task<> Forwarding::send_or_fail(Status& failure) {
  failure = co_await send();
  if (failure) co_await never();
  if (!exchange_.body_failed()) co_await pause_for(time_for_last_words);
}

Task<Status> Forwarding::send() {
  CLOCHE_CO_CHECK(co_await server_.write_all(request_.head, Deadline::never()));
  touch();
  if (request_.has_body) CLOCHE_CO_CHECK(co_await send_body());
  sent_ = true;
  co_return Status{};
}

Task<Status> Forwarding::send_body() {
  for (;;) {
    CLOCHE_CO_TRY(std::string piece, co_await exchange_.read_some());
    const bool last = piece.empty();
    if (!request_.length) piece = last ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    touch();
    CLOCHE_CO_CHECK(co_await server_.write_all(piece, Deadline::never()));
    touch();
    if (last) co_return Status{};
  }
}

Task<Status> Forwarding::receive() {
  CLOCHE_CO_CHECK(co_await receive_head());
  const Response& head = reader_->head();
  CLOCHE_CO_CHECK(check_final(head.status));
  status_ = head.status;
  CLOCHE_CO_TRY(Fields fields, hooks_.fields(head));
  std::optional<Bytes> size;
  if (!hooks_.change_body || hooks_.keeps_length) size = announced_size(head);
  CLOCHE_CO_CHECK(co_await exchange_.begin(head.status, std::move(fields), size));
  if (!is_head()) CLOCHE_CO_CHECK(co_await pass_body());
  reusable_ = sent_ && !hung_up_ && unread_.empty() && reader_->keeps_alive();
  co_return co_await exchange_.end();
}

Task<Status> Forwarding::receive_head() {
  begin_reader();
  for (int informational = 0;;) {
    if (!unread_.empty()) {
      CLOCHE_CO_TRY(const std::size_t used, reader_->feed(unread_));
      unread_.erase(0, used);
    }
    if (!reader_->head_done()) {
      CLOCHE_CO_TRY(const bool more, co_await read_more());
      if (!more) co_return fail(ErrorCode::unavailable, "it closed the connection without a response");
      continue;
    }
    const unsigned status = reader_->head().status;
    if (!is_informational(status) || status == 101) co_return Status{};
    if (++informational > most_informational)
      co_return fail(ErrorCode::protocol, "it sends only informational responses");
    begin_reader();
  }
}

Task<Status> Forwarding::pass_body() {
  for (;;) {
    if (!unread_.empty() && !reader_->done()) {
      CLOCHE_CO_TRY(const std::size_t used, reader_->feed(unread_));
      unread_.erase(0, used);
    }
    const std::string piece = reader_->take_body();
    const bool done = reader_->done();
    CLOCHE_CO_CHECK(co_await pass_piece(piece, done));
    if (done) co_return Status{};
    if (unread_.size() > longest_unread) co_return fail(ErrorCode::limit_reached, "a line of its response is too long");
    if (hung_up_) {
      CLOCHE_CO_CHECK(reader_->end_of_stream());
      co_return co_await pass_piece({}, true);
    }
    CLOCHE_CO_TRY(const bool more, co_await read_more());
    hung_up_ = !more;
  }
}

Task<Status> Forwarding::pass_piece(std::string_view piece, bool last) {
  std::string changed;
  if (hooks_.change_body) {
    changed = hooks_.change_body(piece, last);
    piece = changed;
  }
  if (piece.empty()) co_return Status{};
  auto written = co_await exchange_.write(piece);
  touch();
  co_return written;
}

Task<Result<bool>> Forwarding::read_more() {
  const std::size_t had = unread_.size();
  unread_.resize(had + read_size);
  const std::span<char> room(unread_.data() + had, read_size);
  auto count = co_await server_.read_some(room, Deadline::never());
  unread_.resize(had + (count ? *count : 0));
  if (!count) co_return fail(std::move(count).error());
  if (*count > 0) server_responded_ = true;
  touch();
  co_return *count > 0;
}

void Forwarding::begin_reader() {
  ReaderLimits limits;
  limits.body = rules_.response;
  const bool has_none = is_head() || request_.upgrades;
  reader_ = std::make_unique<ResponseReader>(limits, has_none ? BodyRule::none : BodyRule::as_announced);
}

Task<Status> Forwarding::serve_upgrade() {
  Status failure;
  auto begun = [&]() -> Task<> {
    failure = co_await send();
    if (failure) failure = co_await receive_head();
  };
  const auto ended = co_await first_of(begun(), watch(rules_.timeout));
  if (ended.index() == 1) co_return fail(ErrorCode::timeout, "it did not respond in time");
  CLOCHE_CO_CHECK(failure);
  const Response& head = reader_->head();
  status_ = head.status;
  if (head.status != 101) {
    CLOCHE_CO_CHECK(check_final(head.status));
    CLOCHE_CO_TRY(Fields fields, hooks_.fields(head));
    co_return co_await exchange_.respond(head.status, std::move(fields), std::string());
  }
  CLOCHE_CO_TRY(Fields fields, hooks_.upgrade_fields(head));
  CLOCHE_CO_TRY(const std::unique_ptr<Stream> client, co_await exchange_.switch_protocols(std::move(fields)));
  touch();
  auto over = co_await first_of(from_client(*client), from_server(*client), watch(rules_.idle),
                                exchange_.wait_until_server_stops());
  if (auto* by_client = std::get_if<0>(&over)) co_return std::move(*by_client);
  if (auto* by_server = std::get_if<1>(&over)) co_return std::move(*by_server);
  co_return Status{};
}

Task<Status> Forwarding::from_client(Stream& client) {
  std::array<char, 16 * 1024> buffer{};
  for (;;) {
    CLOCHE_CO_TRY(const std::size_t count, co_await client.read_some(buffer, Deadline::never()));
    if (count == 0) co_return Status{};
    touch();
    CLOCHE_CO_CHECK(co_await server_.write_all(std::string_view(buffer.data(), count), Deadline::never()));
    touch();
  }
}

Task<Status> Forwarding::from_server(Stream& client) {
  for (bool more = true;;) {
    std::string bytes = std::exchange(unread_, {});
    if (hooks_.change_body) bytes = hooks_.change_body(bytes, !more);
    if (!bytes.empty()) CLOCHE_CO_CHECK(co_await client.write_all(bytes, Deadline::never()));
    touch();
    if (!more) co_return Status{};
    CLOCHE_CO_TRY(more, co_await read_more());
  }
}

Task<> Forwarding::watch(std::chrono::steady_clock::duration most) {
  while (Deadline::Clock::now() - last_ < most) co_await pause_for(most - (Deadline::Clock::now() - last_));
}

}  // namespace cloche::http
