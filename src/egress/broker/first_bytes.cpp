#include "egress/broker/first_bytes.hpp"

#include "core/file_error.hpp"
#include "egress/broker/route.hpp"
#include "egress/policy/client_hello.hpp"
#include "egress/policy/host_name.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Refusal> denied_hello(std::string reason) {
  return std::unexpected(Refusal::denied(Decision::no(std::move(reason))));
}

}  // namespace

OrRefusal<> check_server_name(const Policy& policy, const Destination& destination, std::string_view server_name) {
  const std::string meant = host_and_port(destination);
  if (server_name.empty()) {
    if (destination.name.empty()) return {};
    return denied_hello("TLS to " + meant + " without a server name");
  }
  const auto name = normalize_host(server_name);
  if (!name) return denied_hello("TLS to " + meant + " with an invalid server name");
  if (!destination.name.empty()) {
    if (*name == destination.name) return {};
    return denied_hello("TLS to " + meant + " with another server name, " + shown(*name));
  }
  // The address is allowed; a name that is denied stays denied.
  const Destination named{.name = *name, .address = std::nullopt, .port = destination.port};
  Decision decision = decide_destination(policy, named, Carriage::opaque);
  if (!decision.allowed && !decision.rule.empty()) return std::unexpected(Refusal::denied(std::move(decision)));
  return {};
}

Task<OrRefusal<std::string>> read_first_bytes(Live& live, http::Stream& program, FirstBytes wanted) {
  const auto patience = live.sandbox.broker->options.head;
  Deadline deadline = wanted == FirstBytes::tls ? Deadline::after(patience) : Deadline::never();
  std::string bytes;
  std::string room(4096, '\0');
  for (;;) {
    auto count = co_await program.read_some(room, deadline);
    if (!count) co_return std::unexpected(Refusal::failed(std::move(count).error().at("read the first bytes")));
    if (*count == 0 && bytes.empty() && wanted == FirstBytes::any) co_return bytes;
    if (*count == 0) co_return denied_hello("the program ended the connection in the middle of a client hello");
    if (bytes.empty()) deadline = deadline.sooner(Deadline::after(patience));
    bytes.append(room, 0, *count);
    const ClientHello hello = read_client_hello(bytes);
    if (hello.state == ClientHello::State::not_tls && wanted == FirstBytes::any) co_return bytes;
    if (hello.state == ClientHello::State::not_tls) {
      co_return denied_hello("requests to " + host_and_port(live.use->destination) +
                             " get a secret, so they must be sent with TLS");
    }
    if (hello.state == ClientHello::State::complete) {
      auto checked = check_server_name(*live.sandbox.policy, live.use->destination, hello.server_name);
      if (!checked) co_return std::unexpected(std::move(checked).error());
      co_return bytes;
    }
    if (hello.state == ClientHello::State::invalid || bytes.size() > longest_client_hello) {
      co_return denied_hello("the client hello cannot be read");
    }
  }
}

}  // namespace cloche::egress
