#include "http/server/server.hpp"

#include "core/async/event.hpp"
#include "core/async/exceptions.hpp"
#include "core/async/first_of.hpp"
#include "core/async/shielded.hpp"
#include "core/async/task_group.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "http/server/listener.hpp"
#include "http/server/server_connection.hpp"

namespace cloche::http {

namespace {

// Clients that are turned away get time to read why, as long as there are not too many of them.
constexpr std::size_t most_turned_away = 128;
constexpr auto time_to_go = std::chrono::seconds(1);
// A server that is short of something says so once in a while, not at each try.
constexpr auto between_warnings = std::chrono::seconds(30);

struct Counted {
  explicit Counted(std::shared_ptr<ServerState> s) : state(std::move(s)) { ++state->counts.open_connections; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --state->counts.open_connections; }
  std::shared_ptr<ServerState> state;
};

}  // namespace

struct Server::Impl {
  Impl(Executor executor, ServerOptions options, Handler handler)
      : state(std::make_shared<ServerState>(executor, std::move(options), std::move(handler))),
        hurry(executor),
        clients(executor),
        greeted(executor),
        leaving(executor),
        doors(executor) {}

  Task<Status> start() {
    std::vector<std::unique_ptr<Listener>> opened;
    for (const ListenOn& listen : state->options.listen) {
      CLOCHE_CO_TRY(auto more, co_await open_listeners(state->executor, listen));
      for (auto& listener : more) opened.push_back(std::move(listener));
    }
    listeners = std::move(opened);
    for (const auto& listener : listeners) {
      where.push_back(listener->where());
      doors.spawn("accept", [this, door = listener.get()] { return accept(*door); });
    }
    co_return Status{};
  }

  Task<> accept(Listener& listener) {
    Deadline quiet_until = Deadline::after(std::chrono::seconds(0));
    for (;;) {
      auto arrival = co_await listener.accept();
      if (arrival) {
        // A client that cannot be served must not keep later clients from being accepted.
        try {
          fault_point<"http.accept">();
          let_in(std::move(*arrival));
        } catch (...) {
          [[maybe_unused]] const Error logged = to_error("accept", std::current_exception());
        }
        continue;
      }
      if (arrival.error().code == ErrorCode::cancelled) co_return;
      // Of what the machine is short of now, some may be given back soon.
      if (quiet_until.passed()) {
        log::warn("cannot accept connections: {}", arrival.error().message);
        quiet_until = Deadline::after(between_warnings);
      }
      co_await pause_for(std::chrono::milliseconds(100));
    }
  }

  void let_in(Arrival arrival) {
    ++state->counts.connections;
    const auto shared = std::make_shared<Arrival>(std::move(arrival));
    const bool has_room = state->counts.open_connections < state->options.limits.connections;
    if (has_room || ServerConnection::make_room(*state)) {
      // Counted until the last of its tasks has ended.
      auto counted = std::make_shared<Counted>(state);
      if (shared->stream) {
        clients.spawn("connection", [this, shared, counted] { return serve(shared); });
      } else {
        greeted.spawn("handshake", [this, shared, counted] { return greet(shared, counted); });
      }
      return;
    }
    ++state->counts.refused_connections;
    // Without an answer where one would cost a handshake.
    if (!shared->stream || leaving.size() >= most_turned_away) return;
    leaving.spawn("connection refused", [this, shared] { return turn_away(shared); });
  }

  Task<> greet(std::shared_ptr<Arrival> arrival, std::shared_ptr<Counted> counted) {
    auto stream = co_await arrival->handshake(Deadline::after(state->options.limits.handshake));
    if (!stream) {
      log::debug("{}: {}", arrival->peer.describe(), stream.error().message);
      co_return;
    }
    arrival->stream = std::move(*stream);
    clients.spawn("connection", [this, arrival, counted] { return serve(arrival); });
  }

  Task<> serve(std::shared_ptr<Arrival> arrival) {
    ServerConnection connection(state, std::move(arrival->stream), std::move(arrival->peer), state->handler);
    co_await connection.run();
  }

  Task<> turn_away(std::shared_ptr<Arrival> arrival) {
    const Deadline deadline = Deadline::after(time_to_go);
    const RequestError refusal{503, "too many connections"};
    const std::string bytes = state->rejection_bytes(refusal, random_hex(8));
    Stream& stream = *arrival->stream;
    auto written = co_await stream.write_all(bytes, deadline);
    if (!written) co_return;
    ++state->counts.by_class[5];
    co_await stream.end_writing(deadline);
    // A close with the request unread would be a reset, and take the answer with it.
    std::array<char, 4096> dropped;
    const std::span<char> into(dropped);
    for (int pieces = 0; pieces < 16; ++pieces) {
      auto count = co_await stream.read_some(into, deadline);
      if (!count || *count == 0) co_return;
    }
  }

  void stop_accepting() {
    for (const auto& listener : listeners) listener->close();
  }

  Task<> shut_down(Deadline deadline) {
    stop_accepting();
    state->stopping = true;
    state->stopped.notify();
    for (ServerConnection* connection : state->connections) connection->wake();
    co_await doors.shut_down();
    co_await greeted.shut_down();
    co_await leaving.shut_down();
    if (!hastened) co_await first_of(clients.join(), hurry.wait(deadline));
    co_await clients.shut_down();
    listeners.clear();
  }

  std::shared_ptr<ServerState> state;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<ListensOn> where;
  bool hastened = false;
  Event hurry;
  TaskGroup clients;
  TaskGroup greeted;
  TaskGroup leaving;
  TaskGroup doors;
};

Server::Server(Executor executor, ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(executor), std::move(options), std::move(handler))) {}

Server::~Server() = default;

Task<Status> Server::start() { return impl_->start(); }
const std::vector<ListensOn>& Server::listens_on() const { return impl_->where; }

Task<> Server::serve(std::unique_ptr<Stream> stream, Peer peer, Handler handler) {
  const Counted counted(impl_->state);
  ++counted.state->counts.connections;
  ServerConnection connection(counted.state, std::move(stream), std::move(peer), std::move(handler));
  co_await connection.run();
}

void Server::stop_accepting() { impl_->stop_accepting(); }

void Server::hasten() {
  impl_->hastened = true;
  impl_->hurry.notify();
}

Task<> Server::shut_down(Deadline deadline) {
  auto work = [this, deadline] { return impl_->shut_down(deadline); };
  co_await shielded(std::move(work));
}

Status Server::reload_certificates() {
  std::vector<std::function<void()>> changes;
  for (const auto& listener : impl_->listeners) {
    CLOCHE_TRY(auto change, listener->prepare_reload());
    if (change) changes.push_back(std::move(change));
  }
  for (const auto& change : changes) change();
  return {};
}

ServerCounts Server::counts() const {
  ServerCounts counts = impl_->state->counts;
  counts.body_bytes_held = impl_->state->budget->used();
  counts.bodies_refused = impl_->state->budget->refused();
  return counts;
}

}  // namespace cloche::http
