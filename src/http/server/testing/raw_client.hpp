// RawClient: a client of a server under test that sends what it likes, byte by byte.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace cloche::http::testing {

class RawClient {
 public:
  explicit RawClient(const Executor& executor) : socket_(executor) {}

  Task<> connect(std::uint16_t port);
  Task<> send(std::string bytes);
  // The next answer, informational ones included when they are the next. Status 0 when the connection ended before it.
  Task<Response> answer();
  // The answer to a HEAD.
  Task<Response> answer_without_body();
  // At least one byte; empty at the end.
  Task<std::string> receive();
  // All there is to the end.
  Task<std::string> rest();
  // True when the server ends the connection without a word more.
  Task<bool> ends();

  void close();
  void reset();  // the rude way
  void end_writing();
  asio::ip::tcp::socket& socket() { return socket_; }

 private:
  Task<Response> read_answer(bool has_body);

  asio::ip::tcp::socket socket_;
  std::string unread_;
  bool hung_up_ = false;  // nothing more can be sent
  bool ended_ = false;    // nothing more will come
};

}  // namespace cloche::http::testing
