// A WebSocket client of the service, over its unix socket; and what a terminal's clients do with one.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "core/async/task.hpp"

namespace cloche {

class WebSocketClient {
 public:
  struct Message {
    bool is_text = false;
    std::string data;
  };

  // Throws when the server does not agree, with the status it gave.
  static Task<std::unique_ptr<WebSocketClient>> connect(Executor executor, std::string socket, std::string target);

  Task<> send_text(std::string text);
  Task<> send_bytes(std::string bytes);
  // The next message; throws when the connection has ended.
  Task<Message> receive();
  Task<> close();
  // Without a word.
  void drop() { stream_.next_layer().close(); }

  // Of a terminal: reads on until all that was printed has this in it.
  Task<> wait_for(std::string text);
  // Reads on to the exit message, and that connection's end.
  Task<boost::json::value> wait_for_exit();
  const std::string& printed() const { return printed_; }
  std::uint16_t close_code() const { return stream_.reason().code; }

 private:
  explicit WebSocketClient(const Executor& executor) : stream_(executor) {}

  boost::beast::websocket::stream<asio::local::stream_protocol::socket> stream_;
  std::string printed_;
};

}  // namespace cloche
