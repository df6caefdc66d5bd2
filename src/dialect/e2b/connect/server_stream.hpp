// Streams: envelopes from the client, envelopes back. The status is 200 in any case; how the call ended is in the last
// envelope.
#pragma once

#include <functional>

#include "connect/envelope.hpp"
#include "dialect/e2b/connect/failure.hpp"
#include "dialect/e2b/connect/proto_object.hpp"
#include "dialect/e2b/connect/unary_call.hpp"

namespace cloche::dialect::e2b::connect {

using cloche::connect::envelope_head;
using cloche::connect::EnvelopeReader;
using cloche::connect::in_envelope;
namespace envelope_flags = cloche::connect::envelope_flags;

class ServerStream {
 public:
  explicit ServerStream(http::Exchange& exchange) : exchange_(exchange) {}

  // Returns when the kernel has taken the message: a client that does not read slows its sender down. Fails when the
  // client is gone.
  Task<Status> send(const json::value& message);
  // What the stream reports from is gone: it breaks off without a last envelope. The handler then returns.
  void cut() { is_cut_ = true; }

 private:
  friend Task<> serve_stream(http::Exchange&, std::function<Task<Reply<>>(const ProtoObject&, ServerStream&)>);
  friend Task<> serve_client_stream(http::Exchange&, std::function<Task<Reply<>>(const ProtoObject&)>);
  Task<Status> begin();
  Task<Status> end(const Reply<>& reply);

  http::Exchange& exchange_;
  bool is_begun_ = false;
  bool is_cut_ = false;
};

using StreamHandler = std::function<Task<Reply<>>(const ProtoObject& message, ServerStream& stream)>;

// One message in, any number out. The stream breaks off when the server stops.
Task<> serve_stream(http::Exchange& exchange, StreamHandler handler);

using MessageHandler = std::function<Task<Reply<>>(const ProtoObject& message)>;

// Any number of messages in, one empty message out.
Task<> serve_client_stream(http::Exchange& exchange, MessageHandler handler);

}  // namespace cloche::dialect::e2b::connect
