#include "egress/broker/socks_front.hpp"

#include "egress/broker/prefixed_stream.hpp"
#include "egress/broker/socks.hpp"
#include "egress/broker/tunnel.hpp"

namespace cloche::egress {

namespace {

constexpr std::uint8_t command_connect = 1;
constexpr std::uint8_t general_failure = 1;
constexpr std::uint8_t unknown_command = 7;
constexpr std::uint8_t unknown_address = 8;

class SocksFront {
 public:
  SocksFront(Live& live, std::unique_ptr<http::Stream> program, std::string first)
      : live_(live),
        program_(std::move(program)),
        bytes_(std::move(first)),
        deadline_(Deadline::after(live.sandbox.broker->options.head)) {}

  Task<> serve() {
    auto request = co_await read_request();
    if (!request) co_return;
    if (request->command != command_connect || request->host.empty()) {
      const bool is_connect = request->command == command_connect;
      co_await refuse_request(is_connect ? unknown_address : unknown_command,
                              is_connect ? "unknown kind of address in a SOCKS request" : "SOCKS offers CONNECT only");
      co_return;
    }
    auto destination = parse_destination(request->host, request->port);
    if (!destination) {
      std::string why = std::move(destination).error().message;
      co_await refuse_request(general_failure, std::move(why));
      co_return;
    }
    TunnelFront front;
    front.accept = [this] { return accept(); };
    front.refuse = [this](Refusal refusal) { return reply(refusal.socks_code()); };
    co_await carry_tunnel(live_, Protocol::socks, std::move(*destination), std::move(front));
  }

 private:
  // Nothing if the program does not speak SOCKS5, or too slowly.
  Task<std::optional<SocksRequest>> read_request() {
    for (;;) {
      const SocksGreeting greeting = read_socks_greeting(bytes_);
      if (greeting.state == SocksState::complete) {
        bytes_.erase(0, greeting.size);
        auto written = co_await program_->write_all(socks_method_reply(greeting.without_password), deadline_);
        if (written && !greeting.without_password) co_await program_->end_writing(deadline_);
        if (!written || !greeting.without_password) co_return std::nullopt;
        break;
      }
      if (greeting.state == SocksState::invalid || !co_await read_more()) co_return std::nullopt;
    }
    for (;;) {
      SocksRequest request = read_socks_request(bytes_);
      if (request.state == SocksState::complete) {
        bytes_.erase(0, request.size);
        co_return request;
      }
      if (request.state == SocksState::invalid || !co_await read_more()) co_return std::nullopt;
    }
  }

  Task<bool> read_more() {
    std::string room(512, '\0');
    auto count = co_await program_->read_some(room, deadline_);
    if (!count || *count == 0) co_return false;
    bytes_.append(room, 0, *count);
    co_return true;
  }

  Task<> refuse_request(std::uint8_t code, std::string why) {
    Account account(live_.sandbox.books, live_.sandbox.event_for(Protocol::socks));
    account.refuse(Refusal::invalid(std::move(why)));
    co_await reply(code);
  }

  Task<> reply(std::uint8_t code) {
    const std::string bytes = socks_reply(code);
    auto written = co_await program_->write_all(bytes, Deadline::after(live_.sandbox.broker->options.head));
    if (written) co_await program_->end_writing(Deadline::after(live_.sandbox.broker->options.head));
  }

  Task<Result<std::unique_ptr<http::Stream>>> accept() {
    const std::string bytes = socks_reply(0);
    CLOCHE_CO_CHECK(co_await program_->write_all(bytes, Deadline::after(live_.sandbox.broker->options.head)));
    co_return std::make_unique<PrefixedStream>(std::move(bytes_), std::move(program_));
  }

  Live& live_;
  std::unique_ptr<http::Stream> program_;
  std::string bytes_;  // came, and not used yet
  Deadline deadline_;
};

}  // namespace

Task<> serve_socks(Live& live, std::unique_ptr<http::Stream> program, std::string first) {
  SocksFront front(live, std::move(program), std::move(first));
  co_await front.serve();
}

}  // namespace cloche::egress
