#include "egress/tls/tls_stream.hpp"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ssl.hpp>

#include "core/async/task_group.hpp"
#include "egress/testing/identities.hpp"
#include "egress/testing/memory_stream.hpp"
#include "http/socket_stream.hpp"
#include "http/testing/scripted_server.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using namespace asio::experimental::awaitable_operators;
using asio::ip::tcp;
using testing::MemoryStream;
using testing::TestAuthority;
using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Shaken = Result<std::unique_ptr<TlsStream>>;

const std::string host = "api.example.org";
Deadline soon() { return Deadline::after(std::chrono::minutes(1)); }
Deadline at_once() { return Deadline::after(std::chrono::milliseconds(20)); }

Task<Result<std::string>> read_exactly(http::Stream& stream, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t had = 0; had < size;) {
    const std::span<char> into(bytes.data() + had, size - had);
    CLOCHE_CO_TRY(const std::size_t count, co_await stream.read_some(into, soon()));
    if (count == 0) co_return fail(ErrorCode::unavailable, "ended early");
    had += count;
  }
  co_return bytes;
}

class TlsStreams : public ::testing::Test {
 protected:
  void run(const std::function<Task<>()>& body) { EXPECT_TRUE(http::testing::run_to_end(io_, body, patience)); }

  Task<std::pair<Shaken, Shaken>> shake(SslContext server, SslContext client, std::string name) {
    auto [below_server, below_client] = MemoryStream::make_pair(io_.get_executor());
    to_server_ = below_server->in();
    to_client_ = below_client->in();
    auto both = co_await (TlsStream::accept(std::move(below_server), server, std::string(), soon()) &&
                          TlsStream::connect(std::move(below_client), client, name, soon()));
    co_return std::pair<Shaken, Shaken>(std::move(std::get<0>(both)), std::move(std::get<1>(both)));
  }

  // A socket stream, and a client of Asio that is connected to it.
  Task<std::pair<std::unique_ptr<http::Stream>, tcp::socket>> sockets() {
    tcp::acceptor acceptor(io_, {asio::ip::address_v4::loopback(), 0});
    tcp::socket client(io_);
    co_await client.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
    tcp::socket server = co_await acceptor.async_accept(asio::use_awaitable);
    co_return std::pair<std::unique_ptr<http::Stream>, tcp::socket>(
        std::make_unique<http::SocketStream<tcp::socket>>(std::move(server)), std::move(client));
  }

  static constexpr std::chrono::seconds patience{60};
  asio::io_context io_;
  TestAuthority authority_;
  std::shared_ptr<testing::MemoryLane> to_server_;
  std::shared_ptr<testing::MemoryLane> to_client_;
};

class TlsVersions : public TlsStreams, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(All, TlsVersions, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

TEST_P(TlsVersions, Handshake_CarriesBytesBothWaysAndEndsInGoodOrder) {
  run([this]() -> Task<> {
    auto [server, client] =
        co_await shake(testing::only(authority_.server(host), GetParam()), authority_.client(), host);
    EXPECT_THAT(server, Succeeds());
    EXPECT_THAT(client, Succeeds());
    if (!server || !client) co_return;
    EXPECT_EQ((*server)->server_name(), host);
    EXPECT_THAT(co_await (*client)->write_all("ping", soon()), Succeeds());
    EXPECT_EQ((co_await read_exactly(**server, 4)).value_or(""), "ping");
    EXPECT_THAT(co_await (*server)->write_all("pong", soon()), Succeeds());
    EXPECT_EQ((co_await read_exactly(**client, 4)).value_or(""), "pong");
    co_await (*client)->end_writing(soon());
    std::array<char, 8> buffer;
    EXPECT_EQ((co_await (*server)->read_some(buffer, soon())).value_or(99), 0U);
    // The other direction is still open.
    EXPECT_THAT(co_await (*server)->write_all("late", soon()), Succeeds());
    EXPECT_EQ((co_await read_exactly(**client, 4)).value_or(""), "late");
  });
}

TEST_P(TlsVersions, PeerOfAnotherImplementation_IsServed) {
  run([this]() -> Task<> {
    auto [below, socket] = co_await sockets();
    asio::ssl::context trusting(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(trusting.native_handle(), GetParam());
    SSL_CTX_set_max_proto_version(trusting.native_handle(), GetParam());
    trusting.add_certificate_authority(asio::buffer(authority_.pem()));
    trusting.set_verify_mode(asio::ssl::verify_peer);
    asio::ssl::stream<tcp::socket> client(std::move(socket), trusting);
    client.set_verify_callback(asio::ssl::host_name_verification(host));
    SSL_set_tlsext_host_name(client.native_handle(), host.c_str());
    const unsigned char protocols[] = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    SSL_set_alpn_protos(client.native_handle(), protocols, sizeof protocols);
    auto [server, shaken] =
        co_await (TlsStream::accept(std::move(below), authority_.server(host), std::string(), soon()) &&
                  client.async_handshake(asio::ssl::stream_base::client, asio::as_tuple(asio::use_awaitable)));
    EXPECT_FALSE(std::get<0>(shaken)) << std::get<0>(shaken).message();
    EXPECT_THAT(server, Succeeds());
    if (!server) co_return;
    const unsigned char* chosen = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(client.native_handle(), &chosen, &length);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(chosen), length), "http/1.1");
    const std::string bytes(100'000, 'x');
    const std::string_view view = bytes;
    auto [written, received] = co_await (asio::async_write(client, asio::buffer(bytes), asio::use_awaitable) &&
                                         read_exactly(**server, bytes.size()));
    EXPECT_EQ(written, bytes.size());
    EXPECT_EQ(received.value_or(""), view);
  });
}

TEST_F(TlsStreams, OldVersion_IsRefused) {
  run([this]() -> Task<> {
    SslContext old = authority_.client();
    SSL_CTX_set_security_level(old.get(), 0);
    auto [server, client] = co_await shake(authority_.server(host), testing::only(old, TLS1_1_VERSION), host);
    EXPECT_THAT(server, FailsWith(ErrorCode::protocol));
    EXPECT_THAT(client, FailsWith(ErrorCode::protocol));
  });
}

TEST_F(TlsStreams, CertificateForAnotherName_IsRefused) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server("other.example.org"), authority_.client(), host);
    EXPECT_THAT(client, FailsSaying(ErrorCode::permission_denied, "hostname mismatch"));
    std::array<char, 8> buffer;
    if (!server) co_return;
    EXPECT_FALSE(co_await (*server)->read_some(buffer, soon()));
  });
}

TEST_F(TlsStreams, CertificateForAnAddress_IsComparedAsAnAddress) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server("192.0.2.7"), authority_.client(), "192.0.2.7");
    EXPECT_THAT(client, Succeeds());
    auto [other, misled] = co_await shake(authority_.server("192.0.2.7"), authority_.client(), "192.0.2.8");
    EXPECT_THAT(misled, FailsSaying(ErrorCode::permission_denied, "IP address mismatch"));
  });
}

TEST_F(TlsStreams, ExpiredCertificate_IsRefused) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host, {-10, -3}), authority_.client(), host);
    EXPECT_THAT(client, FailsSaying(ErrorCode::permission_denied, "expired"));
  });
}

TEST_F(TlsStreams, CertificateThatIsNotValidYet_IsRefused) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host, {3, 10}), authority_.client(), host);
    EXPECT_THAT(client, FailsSaying(ErrorCode::permission_denied, "not yet valid"));
  });
}

TEST_F(TlsStreams, SelfSignedCertificate_IsRefused) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(TestAuthority::self_signed_server(host), authority_.client(), host);
    EXPECT_THAT(client, FailsSaying(ErrorCode::permission_denied, "not accepted"));
  });
}

TEST_F(TlsStreams, CertificateOfAnotherAuthority_IsRefused) {
  run([this]() -> Task<> {
    const TestAuthority stranger;
    auto [server, client] = co_await shake(stranger.server(host), authority_.client(), host);
    EXPECT_THAT(client, FailsSaying(ErrorCode::permission_denied, "not accepted"));
  });
}

TEST_F(TlsStreams, StreamThatIsCutOff_FailsInsteadOfEnding) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    EXPECT_THAT(co_await (*server)->write_all("half of", soon()), Succeeds());
    (*server)->close();
    EXPECT_EQ((co_await read_exactly(**client, 7)).value_or(""), "half of");
    std::array<char, 8> buffer;
    EXPECT_THAT(co_await (*client)->read_some(buffer, soon()), FailsSaying(ErrorCode::unavailable, "cut off"));
  });
}

TEST_F(TlsStreams, UnverifiedServer_IsReadToItsEnd) {
  run([this]() -> Task<> {
    auto [below_server, below_client] = MemoryStream::make_pair(io_.get_executor());
    auto [server, client] = co_await (
        TlsStream::accept(std::move(below_server), TestAuthority::self_signed_server(host), std::string(), soon()) &&
        TlsStream::connect_unverified(std::move(below_client), authority_.client(), soon()));
    EXPECT_THAT(server, Succeeds());
    EXPECT_THAT(client, Succeeds());
    if (!server || !client) co_return;
    EXPECT_THAT(co_await (*server)->write_all("all", soon()), Succeeds());
    (*server)->close();
    EXPECT_EQ((co_await read_exactly(**client, 3)).value_or(""), "all");
    std::array<char, 8> buffer;
    EXPECT_EQ((co_await (*client)->read_some(buffer, soon())).value_or(99), 0U) << "without TLS's own end";
  });
}

TEST_F(TlsStreams, StreamThatEndsInTheHandshake_IsUnavailable) {
  run([this]() -> Task<> {
    auto [below, peer] = MemoryStream::make_pair(io_.get_executor());
    co_await peer->end_writing(soon());
    EXPECT_THAT(co_await TlsStream::accept(std::move(below), authority_.server(host), std::string(), soon()),
                FailsWith(ErrorCode::unavailable));
  });
}

TEST_F(TlsStreams, BytesThatAreNotTls_AreAProtocolError) {
  run([this]() -> Task<> {
    for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), std::string(64, '\0'),
                                       std::string("\x16\x03\x01\x00\x05hello", 10)}) {
      auto [below, peer] = MemoryStream::make_pair(io_.get_executor());
      EXPECT_THAT(co_await peer->write_all(garbage, soon()), Succeeds());
      EXPECT_THAT(co_await TlsStream::accept(std::move(below), authority_.server(host), std::string(), soon()),
                  FailsWith(ErrorCode::protocol));
    }
  });
}

TEST_F(TlsStreams, GarbageAfterTheHandshake_IsAProtocolError) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    to_server_->bytes += std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
    to_server_->changed.notify();
    std::array<char, 8> buffer;
    EXPECT_THAT(co_await (*server)->read_some(buffer, soon()), FailsWith(ErrorCode::protocol));
  });
}

TEST_F(TlsStreams, BytesReadAhead_AreTheBeginning) {
  run([this]() -> Task<> {
    auto [below_server, below_client] = MemoryStream::make_pair(io_.get_executor());
    http::Stream& peeked = *below_server;
    auto peek_and_accept = [&, below = std::move(below_server)]() mutable -> Task<Shaken> {
      std::array<char, 100> buffer;
      auto count = co_await peeked.read_some(buffer, soon());
      std::string start(buffer.data(), count.value_or(0));
      co_return co_await TlsStream::accept(std::move(below), authority_.server(host), std::move(start), soon());
    };
    auto accepting = peek_and_accept();
    auto [server, client] = co_await (std::move(accepting) &&
                                      TlsStream::connect(std::move(below_client), authority_.client(), host, soon()));
    EXPECT_THAT(server, Succeeds());
    EXPECT_THAT(client, Succeeds());
  });
}

TEST_F(TlsStreams, Renegotiation_IsRefusedAndTheConnectionGoesOn) {
  run([this]() -> Task<> {
    auto [below, socket] = co_await sockets();
    asio::ssl::context trusting(asio::ssl::context::tlsv12_client);
    trusting.add_certificate_authority(asio::buffer(authority_.pem()));
    asio::ssl::stream<tcp::socket> client(std::move(socket), trusting);
    auto [server, shaken] =
        co_await (TlsStream::accept(std::move(below), authority_.server(host), std::string(), soon()) &&
                  client.async_handshake(asio::ssl::stream_base::client, asio::as_tuple(asio::use_awaitable)));
    if (!server) co_return;
    EXPECT_EQ(SSL_renegotiate(client.native_handle()), 1);
    const std::string bytes = "still here";
    auto [received, sent] =
        co_await (read_exactly(**server, bytes.size()) &&
                  asio::async_write(client, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable)));
    // The client of a refused renegotiation gives up: what matters is that the server does neither hang nor crash.
    EXPECT_TRUE(std::get<0>(sent) || received.has_value());
  });
}

TEST_F(TlsStreams, KeyUpdate_IsAnswered) {
  run([this]() -> Task<> {
    auto [below, socket] = co_await sockets();
    asio::ssl::context trusting(asio::ssl::context::tlsv13_client);
    trusting.add_certificate_authority(asio::buffer(authority_.pem()));
    asio::ssl::stream<tcp::socket> client(std::move(socket), trusting);
    auto [server, shaken] =
        co_await (TlsStream::accept(std::move(below), authority_.server(host), std::string(), soon()) &&
                  client.async_handshake(asio::ssl::stream_base::client, asio::as_tuple(asio::use_awaitable)));
    if (!server) co_return;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(SSL_key_update(client.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
      const std::string bytes = "after an update";
      co_await asio::async_write(client, asio::buffer(bytes), asio::use_awaitable);
      EXPECT_EQ((co_await read_exactly(**server, bytes.size())).value_or(""), bytes);
      EXPECT_THAT(co_await (*server)->write_all(bytes, soon()), Succeeds());
      std::string back(bytes.size(), '\0');
      co_await asio::async_read(client, asio::buffer(back), asio::use_awaitable);
      EXPECT_EQ(back, bytes);
    }
  });
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 7 + (i >> 9)) & 0xff);
  return bytes;
}

TEST_P(TlsVersions, BigTransfersBothWaysWithSlowReaders_AreWholeAndHoldLittle) {
  run([this]() -> Task<> {
    auto [server, client] =
        co_await shake(testing::only(authority_.server(host), GetParam()), authority_.client(), host);
    if (!server || !client) co_return;
    const std::string bytes = pattern(3 << 20);
    const auto send = [&](TlsStream& stream) -> Task<> {
      EXPECT_THAT(co_await stream.write_all(bytes, soon()), Succeeds());
    };
    const auto take = [&](TlsStream& stream) -> Task<> {
      std::string got;
      std::array<char, 5000> buffer;
      while (got.size() < bytes.size()) {
        auto count = co_await stream.read_some(buffer, soon());
        EXPECT_THAT(count, Succeeds());
        if (!count || *count == 0) co_return;
        got.append(buffer.data(), *count);
        co_await asio::post(asio::use_awaitable);
      }
      EXPECT_TRUE(got == bytes);
    };
    co_await (send(**server) && send(**client) && take(**server) && take(**client));
    EXPECT_LE(to_server_->most_held, 16384U);
    EXPECT_LE(to_client_->most_held, 16384U);
  });
}

TEST_F(TlsStreams, WriterWhosePeerReadsNothing_Waits) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    const std::string bytes(1 << 20, 'x');
    EXPECT_THAT(co_await (*server)->write_all(bytes, at_once()), FailsWith(ErrorCode::timeout));
    EXPECT_THAT(co_await (*server)->write_all("more", soon()), FailsWith(ErrorCode::unavailable));
  });
}

TEST_F(TlsStreams, SilentPeer_TimesOut) {
  run([this]() -> Task<> {
    auto [below, peer] = MemoryStream::make_pair(io_.get_executor());
    EXPECT_THAT(co_await TlsStream::accept(std::move(below), authority_.server(host), std::string(), at_once()),
                FailsWith(ErrorCode::timeout));
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    std::array<char, 8> buffer;
    EXPECT_THAT(co_await (*server)->read_some(buffer, at_once()), FailsWith(ErrorCode::timeout));
  });
}

TEST_F(TlsStreams, Close_EndsAPendingRead) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    std::array<char, 8> buffer;
    const auto close_it = [&]() -> Task<> {
      (*server)->close();
      co_return;
    };
    auto count = co_await ((*server)->read_some(buffer, soon()) && close_it());
    EXPECT_THAT(count, FailsWith(ErrorCode::cancelled));
  });
}

TEST_F(TlsStreams, QuietStream_HasNothingToRead) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    if (!server || !client) co_return;
    EXPECT_TRUE((*server)->is_quiet());
    EXPECT_THAT(co_await (*client)->write_all("ab", soon()), Succeeds());
    EXPECT_FALSE((*server)->is_quiet());
    EXPECT_EQ((co_await read_exactly(**server, 1)).value_or(""), "a");
    EXPECT_FALSE((*server)->is_quiet());
    EXPECT_EQ((co_await read_exactly(**server, 1)).value_or(""), "b");
    EXPECT_TRUE((*server)->is_quiet());
  });
}

TEST_F(TlsStreams, SessionsBehindTheHandshake_AreNoBytesForAReader) {
  run([this]() -> Task<> {
    auto [server, client] =
        co_await shake(testing::only(authority_.server(host), TLS1_3_VERSION), authority_.client(), host);
    EXPECT_THAT(client, Succeeds());
    if (!server || !client) co_return;
    EXPECT_FALSE((*client)->is_quiet());
    EXPECT_TRUE(co_await (*client)->is_quiet_once_read());
    EXPECT_TRUE((*client)->is_quiet());
    EXPECT_THAT(co_await (*server)->write_all("early", soon()), Succeeds());
    EXPECT_FALSE(co_await (*client)->is_quiet_once_read());
    EXPECT_EQ((co_await read_exactly(**client, 5)).value_or(""), "early");
    EXPECT_TRUE(co_await (*client)->is_quiet_once_read());
    co_await (*server)->end_writing(soon());
    EXPECT_FALSE(co_await (*client)->is_quiet_once_read());
  });
}

TEST_F(TlsStreams, PeerThatWasCutOff_IsNotQuiet) {
  run([this]() -> Task<> {
    auto [server, client] = co_await shake(authority_.server(host), authority_.client(), host);
    EXPECT_THAT(client, Succeeds());
    if (!server || !client) co_return;
    server->reset();
    EXPECT_FALSE(co_await (*client)->is_quiet_once_read());
  });
}

}  // namespace
}  // namespace cloche::egress
