#include "cli/client/run_client.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "library/throwing.hpp"

namespace cloche::cli {

int run_client(const ServerFlags& flags, ClientWork work, OnSignal on_signal) {
  asio::io_context io{1};
  Service service(io.get_executor(), flags.access());
  int caught = 0;
  asio::cancellation_signal cancellation;
  asio::signal_set signals(io);
  if (on_signal == OnSignal::end) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signals.add(number);
    signals.async_wait([&](boost::system::error_code error, int number) {
      if (error) return;
      caught = number;
      cancellation.emit(asio::cancellation_type::terminal);
    });
  }
  Result<int> ended = 0;
  std::exception_ptr failure;
  const auto body = [&]() -> Task<> {
    auto done = co_await work(service);
    ended = std::move(done);
  };
  asio::co_spawn(io, body, asio::bind_cancellation_slot(cancellation.slot(), [&](std::exception_ptr error) {
                   failure = error;
                   signals.cancel();
                 }));
  io.run();
  if (caught != 0) return 128 + caught;
  if (failure) std::rethrow_exception(failure);
  return value_or_throw(std::move(ended));
}

}  // namespace cloche::cli
