#include "http/client_websocket.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "core/base64.hpp"
#include "core/ids.hpp"

namespace cloche::http {

namespace {

constexpr std::size_t read_room = 64 * 1024;
constexpr std::string_view accept_suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

FrameMask random_mask() {
  const std::string bytes = random_bytes(4);
  FrameMask mask;
  std::ranges::copy(bytes, mask.begin());
  return mask;
}

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

Status check_handshake(const Response& response, std::string_view key, const std::vector<std::string>& protocols) {
  const auto wrong = [](const char* what) {
    return fail(ErrorCode::protocol, std::string("the server's WebSocket handshake is invalid: ") + what);
  };
  if (!same_word(response.field("Upgrade"), "websocket")) return wrong("it upgrades to something else");
  if (response.field("Sec-WebSocket-Accept") != websocket_accept(key)) return wrong("it does not repeat the key");
  if (!response.field("Sec-WebSocket-Extensions").empty()) return wrong("it uses an extension");
  const std::string chosen(response.field("Sec-WebSocket-Protocol"));
  const bool is_known = std::ranges::find(protocols, chosen) != protocols.end();
  if (!is_known && !(protocols.empty() && chosen.empty())) return wrong("it chose none of the protocols");
  return {};
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + std::string(accept_suffix);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) != 1) return {};
  return encode_base64(std::string_view(reinterpret_cast<const char*>(digest), size));
}

ClientWebSocket::ClientWebSocket(const Executor& executor, std::unique_ptr<Stream> stream, std::string read_ahead,
                                 std::string protocol, Bytes largest)
    : stream_(std::move(stream)),
      protocol_(std::move(protocol)),
      frames_(largest),
      buffer_(read_room, '\0'),
      written_(executor) {
  frames_.feed(read_ahead);
}

Task<Result<std::optional<std::string>>> ClientWebSocket::read(Deadline deadline) {
  for (;;) {
    CLOCHE_CO_TRY(auto frame, frames_.next());
    if (!frame) {
      CLOCHE_CO_TRY(const std::size_t count, co_await stream_->read_some(buffer_, deadline));
      if (count == 0) co_return fail(ErrorCode::unavailable, "the WebSocket ended without a close");
      frames_.feed(std::string_view(buffer_).substr(0, count));
      continue;
    }
    switch (frame->kind) {
      case FrameKind::close: co_return std::nullopt;
      case FrameKind::ping: {
        CLOCHE_CO_CHECK(co_await answer_ping(std::move(frame->payload), deadline));
        break;
      }
      case FrameKind::pong: break;
      default: co_return std::move(frame->payload);
    }
  }
}

// A reader must not wait for a writer, who may wait for the server, who may wait for this reader. So a writer that is
// at work sends the pong, after its own frame.
Task<Status> ClientWebSocket::answer_ping(std::string payload, Deadline deadline) {
  owed_pong_ = std::move(payload);
  if (is_writing_) co_return Status{};
  std::string owed = std::move(*std::exchange(owed_pong_, std::nullopt));
  co_return co_await send(FrameKind::pong, owed, deadline);
}

Task<Status> ClientWebSocket::send(FrameKind kind, std::string_view payload, Deadline deadline) {
  const std::string frame = client_frame(kind, payload, random_mask());
  is_writing_ = true;
  struct Written {
    ClientWebSocket& socket;
    ~Written() {
      socket.is_writing_ = false;
      socket.written_.notify();
    }
  } const written{*this};
  CLOCHE_CO_CHECK(co_await stream_->write_all(frame, deadline));
  while (owed_pong_) {
    const std::string owed = std::move(*std::exchange(owed_pong_, std::nullopt));
    const std::string pong = client_frame(FrameKind::pong, owed, random_mask());
    CLOCHE_CO_CHECK(co_await stream_->write_all(pong, deadline));
  }
  co_return Status{};
}

Task<Status> ClientWebSocket::write(std::string_view message, Deadline deadline) {
  while (is_writing_) {
    co_await written_.wait(deadline);
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "write: timed out");
  }
  co_return co_await send(FrameKind::binary, message, deadline);
}

Task<Result<WebSocketAnswer>> open_websocket(Client& client, Executor executor, std::string target,
                                             ClientWebSocketOptions options, Deadline deadline) {
  const std::string key = encode_base64(random_bytes(16));
  Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.fields = std::move(options.fields);
  request.fields.emplace_back("Sec-WebSocket-Version", "13");
  request.fields.emplace_back("Sec-WebSocket-Key", key);
  if (!options.protocols.empty()) request.fields.emplace_back("Sec-WebSocket-Protocol", joined(options.protocols));
  CLOCHE_CO_TRY(Upgrade upgrade, co_await client.upgrade(std::move(request), "websocket", deadline));
  WebSocketAnswer answer;
  answer.response = std::move(upgrade.response);
  if (!upgrade.stream) co_return answer;
  if (answer.response.status != 101)
    co_return fail(ErrorCode::protocol, "the server does not switch to the WebSocket protocol");
  CLOCHE_CO_CHECK(check_handshake(answer.response, key, options.protocols));
  std::string protocol(answer.response.field("Sec-WebSocket-Protocol"));
  answer.socket = std::make_unique<ClientWebSocket>(executor, std::move(upgrade.stream), std::move(upgrade.read_ahead),
                                                    std::move(protocol), options.message);
  co_return answer;
}

}  // namespace cloche::http
