// The server name of a TLS connection: real hellos, and every way to hide it.
#include "egress/policy/client_hello.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

namespace cloche::egress {
namespace {

using State = ClientHello::State;

// The first flight of a real client.
std::string real_hello(const char* server_name) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(context.get()), &SSL_free);
  BIO* sent = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), sent);
  if (server_name != nullptr) SSL_set_tlsext_host_name(client.get(), server_name);
  SSL_connect(client.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(sent, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string number(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string counted(int bytes, const std::string& content) { return number(content.size(), bytes) + content; }
std::string record(const std::string& content) { return "\x16\x03\x01" + counted(2, content); }
std::string extension(std::size_t type, const std::string& content) { return number(type, 2) + counted(2, content); }
std::string name_extension(const std::string& name) {
  return extension(0, counted(2, std::string(1, '\0') + counted(2, name)));
}
std::string hello(const std::string& extensions) {
  return "\x01" + counted(3, std::string("\x03\x03") + std::string(32, 'r') + counted(1, "") + counted(2, "\x13\x01") +
                                 counted(1, std::string(1, '\0')) + counted(2, extensions));
}

TEST(ClientHello, RealOne_HasItsServerName) {
  const ClientHello read = read_client_hello(real_hello("api.example.org"));
  EXPECT_EQ(read.state, State::complete);
  EXPECT_EQ(read.server_name, "api.example.org");
  EXPECT_EQ(read_client_hello(real_hello(nullptr)).state, State::complete);
  EXPECT_EQ(read_client_hello(real_hello(nullptr)).server_name, "");
}

TEST(ClientHello, EveryPrefix_IsIncomplete) {
  const std::string bytes = real_hello("a.org");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read_client_hello(bytes.substr(0, size)).state, State::incomplete) << size;
  }
}

TEST(ClientHello, SplitOverRecords_IsJoined) {
  const std::string message = hello(name_extension("a.org"));
  std::string bytes;
  for (const char c : message) bytes += record(std::string(1, c));
  EXPECT_EQ(read_client_hello(bytes).state, State::complete);
  EXPECT_EQ(read_client_hello(bytes).server_name, "a.org");
  EXPECT_EQ(read_client_hello(bytes + "\x17\x03\x03").server_name, "a.org") << "early data after it";
}

TEST(ClientHello, OtherProtocols_AreNotTls) {
  for (const char* bytes : {"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x05\x01", "\x16\x02\x01"}) {
    EXPECT_EQ(read_client_hello(bytes).state, State::not_tls) << bytes;
  }
}

TEST(ClientHello, AmbiguousOrMalformed_IsInvalid) {
  const std::string two_names =
      counted(2, std::string(1, '\0') + counted(2, "a.org") + std::string(1, '\0') + counted(2, "b.org"));
  for (const std::string& message :
       {hello(name_extension("a.org") + name_extension("b.org")), hello(extension(0, two_names)),
        hello(name_extension("")), hello(extension(0, "")),
        hello(extension(0, counted(2, "\x01" + counted(2, "a.org")))),
        hello(extension(0, counted(2, std::string(1, '\0') + "\xff\xff")) + "x"),
        std::string("\x02") + counted(3, "server"), std::string("\x01") + counted(3, "short")}) {
    EXPECT_EQ(read_client_hello(record(message)).state, State::invalid);
  }
  EXPECT_EQ(read_client_hello(std::string("\x16\x03\x01\xff\xff", 5)).state, State::invalid) << "a record too long";
  EXPECT_EQ(read_client_hello(std::string("\x16\x03\x01\x00\x00", 5)).state, State::invalid) << "an empty record";
  EXPECT_EQ(read_client_hello(record("\x01\x01") + "\x15\x03\x01" + counted(2, "ab")).state, State::invalid)
      << "an alert within";
}

TEST(ClientHello, HelloThatNeverEnds_IsInvalid) {
  std::string bytes = record(std::string("\x01\xff\xff\xff", 4));
  while (bytes.size() <= longest_client_hello) bytes += record(std::string(16000, 'x'));
  EXPECT_EQ(read_client_hello(bytes).state, State::invalid);
}

}  // namespace
}  // namespace cloche::egress
