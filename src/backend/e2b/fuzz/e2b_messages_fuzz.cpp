// What an E2B service sends: descriptions of sandboxes, lists, events of programs, errors, and streams of envelopes
// with these in them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backend/e2b/api/messages.hpp"
#include "connect/envelope.hpp"
#include "http/address.hpp"

namespace {

using namespace cloche;

void check(const e2b::RemoteSandbox& sandbox) {
  // It becomes a part of paths and host names.
  if (sandbox.id.empty() || sandbox.id.find_first_of("/.%?#@: \r\n") != std::string::npos) abort();
  if (sandbox.access_token.find_first_of("\r\n ") != std::string::npos) abort();
  if (!sandbox.domain.empty() && !http::parse_address("https://1-" + sandbox.id + "." + sandbox.domain, "")) abort();
}

void read_all(std::string_view bytes) {
  if (const auto sandbox = e2b::read_sandbox(bytes)) check(*sandbox);
  if (const auto list = e2b::read_sandboxes(bytes, 100)) {
    if (list->size() > 100) abort();
    for (const auto& sandbox : *list) check(sandbox);
  }
  (void)e2b::read_event(bytes);
  (void)e2b::read_end(bytes);
  (void)e2b::read_retry_after(bytes);
  (void)http::parse_address(bytes, "");
  if (e2b::read_message(bytes).find_first_of("\r\n") != std::string::npos) abort();
  (void)e2b::read_call_error(500, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_all(bytes);
  connect::EnvelopeReader reader(connect::Sender::server, 4096);
  reader.feed(bytes);
  for (;;) {
    const auto next = reader.next();
    if (!next || !*next) break;
    read_all((*next)->message);
  }
  return 0;
}
