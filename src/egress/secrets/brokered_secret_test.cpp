// The interceptor behind a real broker: a program's TLS, the proxy, and a server on the loopback.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>

#include "auth/testing/scratch.hpp"
#include "egress/secrets/secret_interceptor.hpp"
#include "egress/testing/brokered.hpp"
#include "egress/testing/identities.hpp"
#include "egress/tls/tls_stream.hpp"
#include "http/socket_stream.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using asio::ip::tcp;
using testing::MemoryStream;
using testing_support::Succeeds;

const std::string brokered_key = "brokered-secret-0123";

Deadline patiently() { return Deadline::after(std::chrono::minutes(1)); }

// All up to an empty line.
Task<std::string> read_head_from(http::Stream& stream) {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    std::array<char, 1> byte;
    auto count = co_await stream.read_some(byte, patiently());
    if (!count || *count == 0) break;
    head += byte[0];
  }
  co_return head;
}

class BrokeredSecret : public testing::Brokered {
 protected:
  BrokeredSecret() : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    authority_ = CertificateAuthority::open(scratch_ / ".", "test").value();
    SecretInterceptorOptions options;
    options.authority = authority_;
    options.client = real_.client();
    EgressSecret& key = options.secrets.named["key"];
    key.source = EgressSecret::Source::value;
    key.text = brokered_key;
    options_.interceptor = std::make_shared<SecretInterceptor>(io_.get_executor(), std::move(options));
    Rule with_secret = rule("server.test:" + std::to_string(port()));
    with_secret.secret = SecretUse{.secret = "key", .name = "X-Key"};
    sandbox_.policy.allow.insert(sandbox_.policy.allow.begin(), with_secret);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string place() const { return "server.test:" + std::to_string(port()); }

  // A server of one connection, which answers its only request with the request.
  Task<> serve_echo() {
    tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
    auto below = std::make_unique<http::SocketStream<tcp::socket>>(std::move(socket));
    SslContext context = real_.server("server.test");
    auto stream = co_await TlsStream::accept(std::move(below), std::move(context), std::string(), patiently());
    EXPECT_THAT(stream, Succeeds());
    if (!stream) co_return;
    request_ = co_await read_head_from(**stream);
    const std::string response =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(request_.size()) + "\r\n\r\n" + request_;
    EXPECT_THAT(co_await (*stream)->write_all(response, patiently()), Succeeds());
  }

  // TLS of a program that trusts the authority, over a connection to the server; its request, and what it gets.
  Task<std::string> ask_with_tls(std::unique_ptr<http::Stream> connection) {
    SslContext trusting(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    const Certificate trusted = std::move(*certificate_from_pem(authority_->certificate_pem()));
    X509_STORE_add_cert(SSL_CTX_get_cert_store(trusting.get()), trusted.get());
    auto stream = co_await TlsStream::connect(std::move(connection), std::move(trusting), std::string("server.test"),
                                              patiently());
    EXPECT_THAT(stream, Succeeds());
    if (!stream) co_return std::string();
    const std::string request =
        "GET /v1 HTTP/1.1\r\nHost: " + place() + "\r\nX-Key: placeholder\r\nConnection: close\r\n\r\n";
    EXPECT_THAT(co_await (*stream)->write_all(request, patiently()), Succeeds());
    std::string all;
    std::array<char, 4096> buffer;
    for (;;) {
      auto count = co_await (*stream)->read_some(buffer, patiently());
      if (!count || *count == 0) co_return all;
      all.append(buffer.data(), *count);
    }
  }

  void expect_hidden(const std::string& response) {
    EXPECT_NE(request_.find("X-Key: " + brokered_key + "\r\n"), std::string::npos);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
    EXPECT_EQ(response.find(brokered_key), std::string::npos);
    EXPECT_NE(response.find("X-Key: " + std::string(brokered_key.size(), '*')), std::string::npos);
    bool is_in_the_books = false;
    for (const EgressEvent& each : events()) {
      is_in_the_books = is_in_the_books || (each.secret == "key" && each.status == 200 && each.bytes_up > 0);
      EXPECT_EQ(to_json(each).find(brokered_key), std::string::npos);
    }
    EXPECT_TRUE(is_in_the_books);
  }

  auth::testing::ScratchDir scratch_;
  testing::TestAuthority real_;
  std::shared_ptr<CertificateAuthority> authority_;
  tcp::acceptor acceptor_;
  std::string request_;
};

TEST_F(BrokeredSecret, ClientOfTheProxy_GetsTheResponseWithoutTheSecret) {
  run([this]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("server", [this] { return serve_echo(); });
    auto [inside, outside] = MemoryStream::make_pair(io_.get_executor());
    auto shared = std::make_shared<std::unique_ptr<http::Stream>>(std::move(outside));
    tasks.spawn("broker", [this, shared] { return egress_->serve(std::move(*shared), std::nullopt); });
    const std::string request = "CONNECT " + place() + " HTTP/1.1\r\nHost: " + place() + "\r\n\r\n";
    EXPECT_THAT(co_await inside->write_all(request, patiently()), Succeeds());
    const std::string head = co_await read_head_from(*inside);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
    const std::string response = co_await ask_with_tls(std::move(inside));
    co_await tasks.join();
    expect_hidden(response);
  });
}

TEST_F(BrokeredSecret, ProgramWithoutAProxy_GetsTheResponseWithoutTheSecret) {
  run([this]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("server", [this] { return serve_echo(); });
    auto [inside, outside] = MemoryStream::make_pair(io_.get_executor());
    auto shared = std::make_shared<std::unique_ptr<http::Stream>>(std::move(outside));
    tasks.spawn("broker", [this, shared] {
      return egress_->serve(std::move(*shared), Destination{.name = "server.test", .address = {}, .port = port()});
    });
    const std::string response = co_await ask_with_tls(std::move(inside));
    co_await tasks.join();
    expect_hidden(response);
  });
}

}  // namespace
}  // namespace cloche::egress
