#include "http/server/testing/raw_client.hpp"

#include <boost/asio.hpp>

#include "http/response_reader.hpp"

namespace cloche::http::testing {

using asio::ip::tcp;

Task<> RawClient::connect(std::uint16_t port) {
  const tcp::endpoint where(asio::ip::address_v4::loopback(), port);
  co_await socket_.async_connect(where, asio::use_awaitable);
}

Task<> RawClient::send(std::string bytes) {
  // A server may hang up in the middle; what it said before is what counts. After an error Asio waits for ever.
  if (hung_up_) co_return;
  const auto [code, count] =
      co_await asio::async_write(socket_, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  if (code) hung_up_ = true;
}

Task<std::string> RawClient::receive() {
  if (ended_) co_return "";
  std::string bytes(64 << 10, '\0');
  const auto [code, count] = co_await socket_.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  if (code) ended_ = true;
  bytes.resize(code ? 0 : count);
  co_return bytes;
}

Task<Response> RawClient::answer() { return read_answer(true); }
Task<Response> RawClient::answer_without_body() { return read_answer(false); }

Task<Response> RawClient::read_answer(bool has_body) {
  ReaderLimits limits;
  limits.body = mib(64);
  ResponseReader reader(limits, has_body ? BodyRule::as_announced : BodyRule::none);
  Response response;
  for (;;) {
    auto used = reader.feed(unread_);
    if (!used) co_return Response{};
    unread_.erase(0, *used);
    response.body += reader.take_body();
    if (reader.done() || (reader.head_done() && reader.head().status < 200)) break;
    if (*used > 0) continue;
    const std::string more = co_await receive();
    unread_ += more;
    if (more.empty()) {
      if (!reader.end_of_stream()) co_return Response{};
      break;
    }
  }
  const std::string body = std::move(response.body);
  response = reader.head();
  response.body = body;
  co_return response;
}

Task<std::string> RawClient::rest() {
  std::string all = std::exchange(unread_, {});
  for (;;) {
    const std::string more = co_await receive();
    if (more.empty()) break;
    all += more;
  }
  co_return all;
}

Task<bool> RawClient::ends() {
  const std::string left = co_await rest();
  const bool silent = left.empty();
  co_return silent;
}

void RawClient::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void RawClient::reset() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void RawClient::end_writing() {
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace cloche::http::testing
