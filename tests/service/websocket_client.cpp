#include "service/websocket_client.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/json/parse.hpp>
#include <stdexcept>

namespace cloche {

namespace websocket = boost::beast::websocket;

Task<std::unique_ptr<WebSocketClient>> WebSocketClient::connect(Executor executor, std::string socket,
                                                                std::string target) {
  std::unique_ptr<WebSocketClient> client(new WebSocketClient(executor));
  const asio::local::stream_protocol::endpoint endpoint(socket);
  co_await client->stream_.next_layer().async_connect(endpoint, asio::use_awaitable);
  websocket::response_type response;
  boost::system::error_code code;
  co_await client->stream_.async_handshake(response, "localhost", target,
                                           asio::redirect_error(asio::use_awaitable, code));
  if (code) throw std::runtime_error("handshake: " + std::to_string(response.result_int()) + " " + code.message());
  co_return client;
}

Task<> WebSocketClient::send_text(std::string text) {
  stream_.text(true);
  co_await stream_.async_write(asio::buffer(text), asio::use_awaitable);
}

Task<> WebSocketClient::send_bytes(std::string bytes) {
  stream_.binary(true);
  co_await stream_.async_write(asio::buffer(bytes), asio::use_awaitable);
}

Task<WebSocketClient::Message> WebSocketClient::receive() {
  boost::beast::flat_buffer buffer;
  co_await stream_.async_read(buffer, asio::use_awaitable);
  Message message;
  message.is_text = stream_.got_text();
  message.data.assign(static_cast<const char*>(buffer.data().data()), buffer.size());
  co_return message;
}

Task<> WebSocketClient::close() { co_await stream_.async_close(websocket::close_code::normal, asio::use_awaitable); }

Task<> WebSocketClient::wait_for(std::string text) {
  while (printed_.find(text) == std::string::npos) {
    const Message message = co_await receive();
    if (message.is_text) throw std::runtime_error("not printed: " + text + "; but: " + printed_ + message.data);
    printed_ += message.data;
  }
}

Task<boost::json::value> WebSocketClient::wait_for_exit() {
  boost::json::value last;
  for (;;) {
    Message message = co_await receive();
    if (message.is_text) {
      last = boost::json::parse(message.data);
      break;
    }
    printed_ += message.data;
  }
  boost::beast::flat_buffer buffer;
  boost::system::error_code code;
  co_await stream_.async_read(buffer, asio::redirect_error(asio::use_awaitable, code));
  if (code != websocket::error::closed) throw std::runtime_error("something followed the exit: " + code.message());
  co_return last;
}

}  // namespace cloche
