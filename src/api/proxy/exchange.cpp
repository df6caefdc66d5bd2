#include "api/proxy/exchange.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "core/fault_point.hpp"

namespace cloche::api {

namespace {

constexpr int most_informational = 8;
// Between the parts of a body only short lines stay unread.
constexpr std::size_t longest_unread = std::size_t{128} << 10;

// None where the body is framed otherwise.
std::optional<Bytes> announced_size(const http::Response& head) {
  if (!head.field("Transfer-Encoding").empty()) return std::nullopt;
  const std::string_view text = head.field("Content-Length");
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Bytes{size};
}

bool is_informational(unsigned status) { return status >= 100 && status < 200; }

}  // namespace

Task<Status> ProxyExchange::serve() {
  exchange_.allow_body(rules_.request);
  // At once: a server may answer before it has read everything.
  Status failure;
  auto ended = co_await first_of(receive(), send_or_fail(failure));
  if (auto* received = std::get_if<0>(&ended)) co_return std::move(*received);
  co_return failure;
}

// Returns only when it fails; the answer is what is waited for.
Task<> ProxyExchange::send_or_fail(Status& failure) {
  failure = co_await send();
  if (failure) co_await never();
}

Task<Status> ProxyExchange::send() {
  std::string head = serialise_proxy_head(head_);
  CLOCHE_CO_CHECK(co_await connection_.write(std::move(head), Deadline::after(rules_.timeout)));
  touch();
  if (!head_.has_body) co_return Status{};
  co_return co_await send_body();
}

Task<Status> ProxyExchange::send_body() {
  for (;;) {
    CLOCHE_CO_TRY(std::string piece, co_await exchange_.read_some());
    const bool last = piece.empty();
    if (!head_.length) piece = last ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    touch();
    CLOCHE_CO_CHECK(co_await connection_.write(std::move(piece), Deadline::after(rules_.timeout)));
    touch();
    if (last) co_return Status{};
  }
}

Task<Status> ProxyExchange::receive() {
  CLOCHE_CO_CHECK(co_await receive_head());
  CLOCHE_CO_CHECK(fallible_point<"service.proxy">());
  const http::Response& head = reader_->head();
  if (is_informational(head.status))
    co_return fail(ErrorCode::protocol, "it switched protocols without an Upgrade request");
  CLOCHE_CO_CHECK(check_proxied_status(head.status));
  CLOCHE_CO_TRY(http::Fields fields, proxied_answer_fields(head.fields, head_.place()));
  std::optional<Bytes> size;
  if (head_.method != "HEAD") size = announced_size(head);
  CLOCHE_CO_CHECK(co_await exchange_.begin(head.status, std::move(fields), size));
  if (head_.method != "HEAD") CLOCHE_CO_CHECK(co_await pass_body());
  co_return co_await exchange_.end();
}

Task<Status> ProxyExchange::receive_head() {
  begin_reader();
  for (int informational = 0;;) {
    if (!unread_.empty()) {
      CLOCHE_CO_TRY(const std::size_t used, reader_->feed(unread_));
      unread_.erase(0, used);
    }
    if (!reader_->head_done()) {
      CLOCHE_CO_TRY(const std::string bytes, co_await read_patiently());
      if (bytes.empty()) co_return fail(ErrorCode::unavailable, "it closed the connection without a response");
      unread_ += bytes;
      continue;
    }
    const unsigned status = reader_->head().status;
    if (!is_informational(status) || status == 101) co_return Status{};
    if (++informational > most_informational)
      co_return fail(ErrorCode::protocol, "it sends only informational responses");
    begin_reader();
  }
}

Task<Status> ProxyExchange::pass_body() {
  for (;;) {
    if (!unread_.empty() && !reader_->done()) {
      CLOCHE_CO_TRY(const std::size_t used, reader_->feed(unread_));
      unread_.erase(0, used);
    }
    const std::string piece = reader_->take_body();
    if (!piece.empty()) CLOCHE_CO_CHECK(co_await exchange_.write(piece));
    if (reader_->done()) co_return Status{};
    if (unread_.size() > longest_unread) co_return fail(ErrorCode::limit_reached, "a line of its response is too long");
    if (hung_up_) co_return reader_->end_of_stream();
    CLOCHE_CO_TRY(const std::string bytes, co_await read_patiently());
    hung_up_ = bytes.empty();
    unread_ += bytes;
  }
}

Task<Result<std::string>> ProxyExchange::read_patiently() {
  for (;;) {
    auto bytes = co_await connection_.read(Deadline::at(last_ + rules_.timeout));
    const bool slow = !bytes && bytes.error().code == ErrorCode::timeout;
    // The request's body may still have been on its way.
    if (slow && Deadline::Clock::now() - last_ < rules_.timeout) continue;
    if (slow) co_return fail(ErrorCode::timeout, "it did not respond in time");
    touch();
    co_return bytes;
  }
}

void ProxyExchange::begin_reader() {
  http::ReaderLimits limits;
  limits.body = rules_.answer;
  const bool has_none = head_.method == "HEAD" || head_.upgrades;
  reader_ =
      std::make_unique<http::ResponseReader>(limits, has_none ? http::BodyRule::none : http::BodyRule::as_announced);
}

Task<Status> ProxyExchange::serve_upgrade() {
  CLOCHE_CO_CHECK(co_await send());
  CLOCHE_CO_CHECK(co_await receive_head());
  const http::Response& head = reader_->head();
  if (head.status != 101) {
    CLOCHE_CO_CHECK(check_proxied_status(head.status));
    CLOCHE_CO_TRY(http::Fields fields, proxied_answer_fields(head.fields, head_.place()));
    co_return co_await exchange_.respond(head.status, std::move(fields), std::string());
  }
  http::Fields fields = proxied_upgrade_fields(head.fields);
  CLOCHE_CO_TRY(const std::unique_ptr<http::Stream> client, co_await exchange_.switch_protocols(std::move(fields)));
  co_return co_await join(*client);
}

Task<Status> ProxyExchange::join(http::Stream& client) {
  touch();
  co_await first_of(from_client(client), from_server(client), watch(), exchange_.wait_until_server_stops());
  co_return Status{};
}

Task<> ProxyExchange::from_client(http::Stream& client) {
  std::array<char, 16 * 1024> buffer{};
  for (;;) {
    auto count = co_await client.read_some(buffer, Deadline::never());
    if (!count || *count == 0) co_return;
    touch();
    std::string bytes(buffer.data(), *count);
    auto written = co_await connection_.write(std::move(bytes), Deadline::after(rules_.timeout));
    if (!written) co_return;
  }
}

Task<> ProxyExchange::from_server(http::Stream& client) {
  std::string bytes = std::exchange(unread_, {});
  for (;;) {
    if (!bytes.empty()) {
      auto written = co_await client.write_all(bytes, Deadline::after(rules_.timeout));
      if (!written) co_return;
    }
    auto read = co_await connection_.read();
    if (!read || read->empty()) co_return;
    touch();
    bytes = std::move(*read);
  }
}

Task<> ProxyExchange::watch() {
  while (Deadline::Clock::now() - last_ < rules_.idle)
    co_await pause_for(rules_.idle - (Deadline::Clock::now() - last_));
}

}  // namespace cloche::api
