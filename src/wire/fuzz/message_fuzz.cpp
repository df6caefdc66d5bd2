// Every message's decoder on any bytes: no crash, and what it understands is written so that it is understood the same
// again. Each input is tried as every message there is, with that message's kind put in front.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/channel_messages.hpp"
#include "wire/egress_messages.hpp"
#include "wire/exec_messages.hpp"
#include "wire/file_messages.hpp"

namespace {

using namespace cloche::wire;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Message>
void try_as(std::string_view fields) {
  std::string bytes;
  put_varint(bytes, static_cast<std::uint64_t>(Message::kind));
  bytes += fields;
  const auto message = decode<Message>(bytes);
  if (!message) return;
  const std::string written = encode(*message);
  const auto again = decode<Message>(written);
  require(again.has_value());
  require(encode(*again) == written);
  require(kind_of(written) == static_cast<std::uint64_t>(Message::kind));
}

// Without a kind: records of a lane.
template <class Record>
void try_as_record(std::string_view bytes) {
  Record record;
  if (!take_fields(bytes, record)) return;
  std::string written;
  Encoder encoder(written);
  fields(encoder, record);
  Record again;
  require(take_fields(written, again));
  std::string twice;
  Encoder second(twice);
  fields(second, again);
  require(written == twice);
}

template <class... Messages>
void try_as_each(std::string_view fields) {
  (try_as<Messages>(fields), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view fields(reinterpret_cast<const char*>(data), size);
  try_as_each<Hello, Ready, Credit, Closed>(fields);
  try_as_each<ExecRequest, ExecStarted, ExecEnded, ExecSignal, ExecResize, ExecListRequest, ExecList,
              ExecAttachRequest>(fields);
  try_as_each<TcpRequest, TcpConnected, ResetRequest, ResetReport, ZygoteRequest>(fields);
  try_as_each<EgressRequest, EgressListening, EgressOffer, EgressRefuse, EgressTakeRequest>(fields);
  try_as_each<FileRequest, FileReply>(fields);
  try_as_record<WatchEvent>(fields);
  // The kind itself may be anything too.
  (void)kind_of(fields);
  return 0;
}
