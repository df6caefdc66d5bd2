#include "http/testing/scripted_server.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/ids.hpp"

namespace cloche::http::testing {

namespace {

using Socket = asio::local::stream_protocol::socket;

std::string new_directory() {
  const auto path = std::filesystem::temp_directory_path() / ("cloche-test-" + random_hex(6));
  std::filesystem::create_directory(path);
  return path;
}

std::string field(const std::string& head, std::string_view name) {
  const auto at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

std::size_t number(std::string_view text, int base) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

Task<> Peer::send(std::string bytes) {
  co_await asio::async_write(socket_, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
}

Task<> Peer::reply(int status, std::string body, std::string more_fields) {
  std::string response =
      fmt::format("HTTP/1.1 {} Whatever\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n", status,
                  body.size(), more_fields);
  if (status != 204 && status != 304) response += body;
  co_await send(std::move(response));
}

Task<std::string> Peer::receive() {
  std::string bytes(64 << 10, '\0');
  const auto [code, count] = co_await socket_.async_read_some(asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  bytes.resize(code ? 0 : count);
  co_return bytes;
}

Task<> Peer::receive_until(std::string_view end, std::string& into) {
  while (into.find(end) == std::string::npos) {
    const std::string more = co_await receive();
    if (more.empty()) co_return;
    into += more;
  }
}

void Peer::hang_up() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

ScriptedServer::ScriptedServer(Executor executor)
    : directory_(new_directory()),
      path_(directory_ + "/server.sock"),
      acceptor_(executor, asio::local::stream_protocol::endpoint(path_)),
      tasks_(executor) {
  tasks_.spawn("accept", [this] { return accept(); });
}

ScriptedServer::~ScriptedServer() { std::filesystem::remove_all(directory_); }

void ScriptedServer::on(std::string beginning, Handler handler) {
  handlers_.emplace_back(std::move(beginning), std::move(handler));
}

void ScriptedServer::on(std::string beginning, int status, const std::string& body) {
  on(std::move(beginning),
     [status, body](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.reply(status, body); });
}

std::size_t ScriptedServer::count(std::string_view beginning) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [&](const auto& r) { return r.starts_with(beginning); }));
}

Task<> ScriptedServer::stop() {
  acceptor_.close();
  co_await tasks_.shut_down();
}

Task<> ScriptedServer::accept() {
  for (;;) {
    auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
    ++connections_;
    auto shared = std::make_shared<Socket>(std::move(socket));
    tasks_.spawn("serve", [this, shared] { return serve(std::move(*shared)); });
  }
}

Task<> ScriptedServer::serve(Socket socket) {
  Peer peer(std::move(socket));
  std::string buffer;
  while (peer.is_open()) {
    ReceivedRequest request;
    const bool complete = co_await read_request(peer, buffer, request);
    if (!complete) co_return;
    const std::string line = request.method + " " + request.target;
    requests_.push_back(line);
    const auto found =
        std::find_if(handlers_.rbegin(), handlers_.rend(), [&](const auto& h) { return line.starts_with(h.first); });
    if (found == handlers_.rend()) {
      co_await peer.reply(404, R"({"message":"the test has no answer to this"})");
      continue;
    }
    const Handler handler = found->second;
    co_await handler(std::move(request), peer);
  }
}

Task<bool> ScriptedServer::read_request(Peer& peer, std::string& buffer, ReceivedRequest& request) {
  co_await peer.receive_until("\r\n\r\n", buffer);
  const auto end = buffer.find("\r\n\r\n");
  if (end == std::string::npos) co_return false;
  request.head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  const auto space = request.head.find(' ');
  request.method = request.head.substr(0, space);
  request.target = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
  const bool chunked = field(request.head, "Transfer-Encoding") == "chunked";
  std::size_t left = number(field(request.head, "Content-Length"), 10);
  do {
    if (chunked) {
      co_await peer.receive_until("\r\n", buffer);
      left = number(buffer, 16);
      buffer.erase(0, buffer.find("\r\n") + 2);
    }
    const std::size_t framed = left + (chunked ? 2 : 0);
    while (buffer.size() < framed) {
      const std::string more = co_await peer.receive();
      if (more.empty()) co_return false;
      buffer += more;
    }
    request.body += buffer.substr(0, left);
    buffer.erase(0, framed);
  } while (chunked && left > 0);
  co_return true;
}

bool run_to_end(asio::io_context& io, std::function<Task<>()> body, std::chrono::steady_clock::duration most) {
  bool ended = false;
  asio::co_spawn(
      io, [&]() -> Task<> { co_await body(); },
      [&](std::exception_ptr error) {
        ended = true;
        if (!error) return;
        try {
          std::rethrow_exception(error);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "the test's coroutine threw: " << e.what();
        }
      });
  io.run_for(most);
  return ended && io.stopped();
}

}  // namespace cloche::http::testing
