// Messages about connections that programs open to the outside: the agent accepts them on the sandbox's loopback, the
// server takes them one by one. Where the server itself can listen in the sandbox's network, it does, and the agent
// only says which names the addresses mean that it gave to programs.
//
// All streams are opened by the server. The egress stream says what was accepted; a stream of its own then carries each
// connection that the server takes.
#pragma once

#include <cstdint>
#include <string>

#include "wire/codec.hpp"
#include "wire/requests.hpp"

namespace cloche::wire {

// The ports of a sandbox's loopback. The rules that redirect connections name the last two, so they are fixed when the
// sandbox is created.
constexpr std::uint16_t usual_proxy_port = 3128;
constexpr std::uint16_t transparent_port = 3129;
constexpr std::uint16_t name_server_port = 3153;

// The addresses that the name server gives for names: 198.18.0.0/15, in host byte order. No real host has one.
constexpr std::uint32_t first_name_address = 0xC612'0000;
constexpr std::uint32_t name_addresses = 1U << 17;
constexpr bool means_a_name(std::uint32_t address) { return address - first_name_address < name_addresses; }

// Offers that are neither taken nor refused. An agent that has so many accepts no further connection.
constexpr std::size_t max_egress_offers = 256;
// Connections of one sandbox in all.
constexpr std::size_t max_egress_connections = 1024;
// The longest name of a host, as in the domain name system.
constexpr std::size_t max_egress_host = 255;
// Of a program's bytes, what comes with the offer at most.
constexpr std::size_t max_egress_first = 4096;

// Listens for connections of programs until the stream ends. The agent sends EgressListening, then an EgressOffer for
// each connection that it has accepted. When the stream ends, the listeners are closed and all connections are reset.
struct EgressRequest {
  static constexpr auto kind = RequestKind::egress;
  static constexpr const char* name = "egress";
  std::uint32_t proxy_port = 0;
  bool transparent = false;  // also on the ports of redirected connections and of the name server
  bool with_first = false;   // offers may contain the program's first bytes
  bool names_only = false;   // the server accepts connections itself: no offers, only the name server
};
template <class Fields>
void fields(Fields& f, EgressRequest& m) {
  f(1, m.proxy_port);
  f(2, m.transparent);
  f(3, m.with_first);
  f(4, m.names_only);
}

struct EgressListening {
  static constexpr auto kind = MessageKind::egress_listening;
  static constexpr const char* name = "egress_listening";
};
template <class Fields>
void fields(Fields&, EgressListening&) {}

struct EgressOffer {
  static constexpr auto kind = MessageKind::egress_offer;
  static constexpr const char* name = "egress_offer";
  std::uint64_t id = 0;    // never used twice in a sandbox
  std::string host;        // the name or address that the program meant; empty: it will say so on the stream
  std::uint32_t port = 0;  // 0 where the host is empty
  std::string first;       // what the program had sent by then; the stream continues behind it
};
template <class Fields>
void fields(Fields& f, EgressOffer& m) {
  f(1, m.id);
  f(2, m.host);
  f(3, m.port);
  f(4, m.first);
}

// Resets a connection that was offered.
struct EgressRefuse {
  static constexpr auto kind = MessageKind::egress_refuse;
  static constexpr const char* name = "egress_refuse";
  std::uint64_t id = 0;
};
template <class Fields>
void fields(Fields& f, EgressRefuse& m) {
  f(1, m.id);
}

// Asks which name an address means.
struct EgressAsk {
  static constexpr auto kind = MessageKind::egress_ask;
  static constexpr const char* name = "egress_ask";
  std::uint32_t address = 0;  // in host byte order
};
template <class Fields>
void fields(Fields& f, EgressAsk& m) {
  f(1, m.address);
}

// The response to EgressAsk.
struct EgressName {
  static constexpr auto kind = MessageKind::egress_name;
  static constexpr const char* name = "egress_name";
  std::uint32_t address = 0;
  std::string host;  // empty: the address means no name, or no longer does
};
template <class Fields>
void fields(Fields& f, EgressName& m) {
  f(1, m.address);
  f(2, m.host);
}

// Opens a stream for a connection that was offered: lane in is sent to the program, lane out comes from it.
struct EgressTakeRequest {
  static constexpr auto kind = RequestKind::egress_take;
  static constexpr const char* name = "egress_take";
  std::uint64_t id = 0;
};
template <class Fields>
void fields(Fields& f, EgressTakeRequest& m) {
  f(1, m.id);
}

}  // namespace cloche::wire
