// The name server's answers to any bytes: no crash, never longer than the question and one record, always a response
// to the same id, and a name that is asked for is a host's.
#include "agent/egress/dns_answer.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_name(std::string_view name) {
  require(!name.empty() && name.size() <= 253 && name.front() != '.' && name.back() != '.');
  for (const char c : name)
    require((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of just this size, so that reading past it is noticed.
  const std::vector<char> message(data, data + size);
  int asked = 0;
  const std::string answer =
      cloche::agent::answer_dns({message.data(), message.size()}, [&](std::string_view name) -> std::uint32_t {
        check_name(name);
        ++asked;
        return 0xC612'0001;
      });
  require(asked <= 1);
  if (answer.empty()) return 0;
  require(answer.size() >= 12 && answer.size() <= size + 16);
  require(answer[0] == message[0] && answer[1] == message[1] && (answer[2] & 0x80) != 0);
  require(answer[7] == asked);
  // A response is never answered.
  require(cloche::agent::answer_dns(answer, [](std::string_view) { return std::uint32_t{0}; }).empty());
  return 0;
}
