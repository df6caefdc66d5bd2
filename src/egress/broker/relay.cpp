#include "egress/broker/relay.hpp"

#include "core/async/event.hpp"
#include "core/async/first_of.hpp"

namespace cloche::egress {

namespace {

// An idle connection has small buffers, a busy one large ones.
constexpr std::size_t smallest_buffer = std::size_t{4} << 10;
constexpr std::size_t largest_buffer = std::size_t{64} << 10;

class BothWays {
 public:
  BothWays(http::Stream& program, http::Stream& server, RelayOptions& options)
      : program_(program), server_(server), options_(options) {}

  Task<Status> run() {
    auto ended = co_await first_of(up(), down(), watch());
    if (auto* by_program = std::get_if<0>(&ended)) co_return std::move(*by_program);
    if (auto* by_server = std::get_if<1>(&ended)) co_return std::move(*by_server);
    co_return fail(ErrorCode::timeout, "no bytes were transferred for too long");
  }

 private:
  Task<Status> up() {
    if (options_.first_bytes) {
      CLOCHE_CO_TRY(const std::string first, co_await options_.first_bytes());
      touch();
      if (!first.empty()) CLOCHE_CO_CHECK(co_await server_.write_all(first, Deadline::never()));
    }
    co_return co_await pass(program_, server_);
  }

  Task<Status> down() { return pass(server_, program_); }

  // Returns when both directions have ended, or with an error.
  Task<Status> pass(http::Stream& from, http::Stream& to) {
    std::string buffer(smallest_buffer, '\0');
    for (;;) {
      CLOCHE_CO_TRY(const std::size_t count, co_await from.read_some(buffer, Deadline::never()));
      touch();
      if (count == 0) break;
      CLOCHE_CO_CHECK(co_await to.write_all(std::string_view(buffer).substr(0, count), Deadline::never()));
      touch();
      if (count == buffer.size() && count < largest_buffer) buffer.resize(4 * count);
    }
    co_await to.end_writing(Deadline::after(options_.idle));
    if (++ended_ < 2) co_await never();
    co_return Status{};
  }

  Task<> watch() {
    for (;;) {
      const auto silent = Deadline::Clock::now() - last_;
      if (silent >= options_.idle) co_return;
      co_await pause_for(options_.idle - silent);
    }
  }

  void touch() { last_ = Deadline::Clock::now(); }

  http::Stream& program_;
  http::Stream& server_;
  RelayOptions& options_;
  int ended_ = 0;
  Deadline::Clock::time_point last_ = Deadline::Clock::now();
};

}  // namespace

Task<Status> relay(http::Stream& program, http::Stream& server, RelayOptions options) {
  BothWays both(program, server, options);
  co_return co_await both.run();
}

}  // namespace cloche::egress
