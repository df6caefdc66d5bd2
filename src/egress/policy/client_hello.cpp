#include "egress/policy/client_hello.hpp"

#include <cstdint>
#include <optional>

namespace cloche::egress {

namespace {

using State = ClientHello::State;

constexpr std::uint8_t handshake_record = 22;
constexpr std::uint8_t client_hello_message = 1;
constexpr std::uint16_t server_name_extension = 0;
constexpr std::uint8_t host_name_type = 0;
constexpr std::size_t longest_record = std::size_t{16} * 1024;

// Takes numbers and strings off the front; everything after a failure fails.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  std::size_t number(int bytes) {
    std::size_t value = 0;
    for (const char byte : take(static_cast<std::size_t>(bytes))) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view take(std::size_t length) {
    if (length > rest_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }
  // A string behind its length.
  std::string_view counted(int bytes_of_length) { return take(number(bytes_of_length)); }
  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// Whether the message is there as a whole. Other records may follow it: early data, for one.
bool is_whole(std::string_view message) {
  if (message.size() < 4) return false;
  Cursor header(message);
  header.take(1);
  return message.size() - 4 >= header.number(3);
}

// The handshake message out of its records, as far as it is there; nothing if a record is not a handshake.
std::optional<std::string> join_records(std::string_view bytes) {
  std::string message;
  while (bytes.size() >= 5 && !is_whole(message)) {
    const auto type = static_cast<std::uint8_t>(bytes[0]);
    const std::size_t length =
        static_cast<std::size_t>(static_cast<unsigned char>(bytes[3])) << 8 | static_cast<unsigned char>(bytes[4]);
    if (type != handshake_record || bytes[1] != 3 || length == 0 || length > longest_record) return std::nullopt;
    bytes.remove_prefix(5);
    const std::string_view fragment = bytes.substr(0, length);
    message += fragment;
    bytes.remove_prefix(fragment.size());
  }
  return message;
}

// Of the extension's content; nothing if it is malformed.
std::optional<std::string> read_server_name(std::string_view extension) {
  Cursor outer(extension);
  Cursor names(outer.counted(2));
  if (outer.failed() || !outer.at_end()) return std::nullopt;
  std::optional<std::string> found;
  while (!names.at_end()) {
    const std::size_t type = names.number(1);
    const std::string_view name = names.counted(2);
    if (names.failed() || type != host_name_type || found || name.empty()) return std::nullopt;
    found = std::string(name);
  }
  return found;
}

ClientHello read_message(std::string_view body) {
  Cursor hello(body);
  hello.take(2 + 32);  // version, random
  hello.counted(1);    // session id
  hello.counted(2);    // cipher suites
  hello.counted(1);    // compression methods
  if (hello.failed()) return {State::invalid, {}};
  if (hello.at_end()) return {State::complete, {}};
  Cursor extensions(hello.counted(2));
  if (hello.failed() || !hello.at_end()) return {State::invalid, {}};
  std::optional<std::string> name;
  while (!extensions.at_end()) {
    const std::size_t type = extensions.number(2);
    const std::string_view content = extensions.counted(2);
    if (extensions.failed()) return {State::invalid, {}};
    if (type != server_name_extension) continue;
    // Two of them: server and reader could choose different ones.
    if (name) return {State::invalid, {}};
    name = read_server_name(content);
    if (!name) return {State::invalid, {}};
  }
  return {State::complete, name.value_or("")};
}

}  // namespace

ClientHello read_client_hello(std::string_view bytes) {
  if (bytes.empty()) return {State::incomplete, {}};
  if (static_cast<std::uint8_t>(bytes[0]) != handshake_record || (bytes.size() > 1 && bytes[1] != 3)) {
    return {State::not_tls, {}};
  }
  const auto message = join_records(bytes);
  if (!message) return {State::invalid, {}};
  if (!message->empty() && static_cast<std::uint8_t>((*message)[0]) != client_hello_message)
    return {State::invalid, {}};
  if (!is_whole(*message)) return {bytes.size() > longest_client_hello ? State::invalid : State::incomplete, {}};
  Cursor header(*message);
  header.take(1);
  return read_message(header.counted(3));
}

}  // namespace cloche::egress
