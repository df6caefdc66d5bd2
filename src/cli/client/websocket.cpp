#include "cli/client/websocket.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "core/base64.hpp"
#include "http/grammar.hpp"

namespace cloche::cli {

namespace {

// A service that takes nothing for so long is gone.
constexpr std::chrono::seconds write_patience{60};
constexpr std::size_t read_size = std::size_t{64} * 1024;

template <std::size_t n>
Result<std::array<char, n>> random_bytes() {
  std::array<char, n> bytes{};
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), n) != 1) {
    return fail(ErrorCode::internal, "cannot get random bytes");
  }
  return bytes;
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  ::EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, ::EVP_sha1(), nullptr);
  digest.resize(size);
  return encode_base64(digest);
}

Task<Result<std::unique_ptr<WebSocket>>> WebSocket::open(Service& service, std::string target, Deadline deadline) {
  CLOCHE_CO_TRY(const auto nonce, random_bytes<16>());
  const std::string key = encode_base64(std::string_view(nonce.data(), nonce.size()));
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.fields.emplace_back("Sec-WebSocket-Version", "13");
  request.fields.emplace_back("Sec-WebSocket-Key", key);
  std::string protocol = "websocket";
  CLOCHE_CO_TRY(http::Upgrade upgrade, co_await service.upgrade(std::move(request), std::move(protocol), deadline));
  const bool agreed = upgrade.response.status == 101 && same_word(upgrade.response.field("Upgrade"), "websocket") &&
                      upgrade.response.field("Sec-WebSocket-Accept") == websocket_accept(key);
  if (!agreed)
    co_return fail(ErrorCode::protocol, service.place() + " does not support WebSocket; is it a Cloche service?");
  const auto executor = co_await asio::this_coro::executor;
  std::unique_ptr<WebSocket> socket(new WebSocket(executor, std::move(upgrade.stream)));
  socket->decoder_.feed(upgrade.read_ahead);
  co_return socket;
}

Task<Result<std::optional<WebSocketMessage>>> WebSocket::read() {
  std::string buffer(read_size, '\0');
  for (;;) {
    CLOCHE_CO_TRY(auto message, decoder_.next());
    if (!message) {
      const std::span<char> room(buffer);
      CLOCHE_CO_TRY(const std::size_t count, co_await stream_->read_some(room, Deadline::never()));
      if (count == 0) co_return fail(ErrorCode::unavailable, "the service closed the connection");
      decoder_.feed(std::string_view(buffer).substr(0, count));
      continue;
    }
    if (message->opcode == Opcode::pong) continue;
    if (message->opcode == Opcode::ping) {
      std::string same = std::move(message->data);
      CLOCHE_CO_CHECK(co_await write(Opcode::pong, std::move(same)));
      continue;
    }
    if (message->opcode == Opcode::close) {
      // The same code is sent back; whether it arrives does not matter any more.
      std::string code = message->data.substr(0, 2);
      [[maybe_unused]] auto answered = co_await write(Opcode::close, std::move(code));
      co_return std::nullopt;
    }
    co_return message;
  }
}

Task<Status> WebSocket::write(Opcode opcode, std::string data) {
  CLOCHE_CO_TRY(const FrameMask mask, random_bytes<4>());
  const std::string frame = encode_frame(opcode, data, mask);
  const Gate::Pass pass = co_await writing_.enter(Urgency::ordinary);
  const Deadline deadline = Deadline::after(write_patience);
  auto written = co_await stream_->write_all(frame, deadline);
  co_return written;
}

}  // namespace cloche::cli
