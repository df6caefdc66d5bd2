// A scripted agent that offers connections of programs on the stream of the listener.
#pragma once

#include <string>

#include "sandbox/testing/scripted_agent.hpp"
#include "wire/egress_messages.hpp"

namespace cloche {

// The first stream that the server opens.
inline constexpr wire::StreamId listener_stream = 1;

template <class Message>
void say_to_listener(ScriptedChannel& channel, const Message& message) {
  const std::string payload = wire::encode(message);
  channel.say({.type = wire::FrameType::message, .stream = listener_stream, .payload = payload});
}

inline void offer_connection(ScriptedChannel& channel, std::uint64_t id, std::string host, std::uint32_t port) {
  wire::EgressOffer offered;
  offered.id = id;
  offered.host = std::move(host);
  offered.port = port;
  say_to_listener(channel, offered);
}

}  // namespace cloche
