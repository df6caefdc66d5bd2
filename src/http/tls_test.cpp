// TLS with certificates on both sides: which peers are accepted.
#include <gtest/gtest.h>

#include <boost/asio/ssl.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/async/task_group.hpp"
#include "core/ids.hpp"
#include "http/client.hpp"
#include "http/testing/certificates.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
namespace ssl = asio::ssl;

class Tls : public ::testing::Test {
 public:
  Tls() {
    for (const auto& directory : {ours_, theirs_}) {
      std::filesystem::create_directories(directory);
      testing::make_certificates(directory);
    }
    context_.use_certificate_chain_file(ours_ + "/server-cert.pem");
    context_.use_private_key_file(ours_ + "/server-key.pem", ssl::context::pem);
    context_.load_verify_file(ours_ + "/ca.pem");
    context_.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  ~Tls() override { std::filesystem::remove_all(root_); }

 protected:
  // Answers one request on one connection.
  Task<> serve_once() {
    auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
    ssl::stream<tcp::socket> stream(std::move(socket), context_);
    boost::system::error_code code;
    co_await stream.async_handshake(ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return;
    std::string request(4096, '\0');
    co_await stream.async_read_some(asio::buffer(request), asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return;
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    co_await asio::async_write(stream, asio::buffer(answer), asio::redirect_error(asio::use_awaitable, code));
  }

  Result<Response> ask(std::string host, TlsFiles files, std::string server_name = "") {
    Result<Response> result = fail(ErrorCode::internal, "not asked");
    EXPECT_TRUE(testing::run_to_end(io_, [&]() -> Task<> {
      TaskGroup tasks(io_.get_executor());
      tasks.spawn("serve", [this] { return serve_once(); });
      TlsEndpoint endpoint{host, std::to_string(acceptor_.local_endpoint().port()), files, server_name};
      Client client(io_.get_executor(), endpoint);
      Request request;
      request.method = "GET";
      request.target = "/";
      result = co_await client.send(std::move(request), Deadline::after(10s));
      co_await tasks.shut_down();
    }));
    return result;
  }

  const std::string root_ = std::filesystem::temp_directory_path() / ("cloche-tls-" + random_hex(6));
  const std::string ours_ = root_ + "/ours";
  const std::string theirs_ = root_ + "/theirs";
  asio::io_context io_;
  ssl::context context_{ssl::context::tls_server};
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Tls, TextsInPlaceOfFiles_LetTheRequestThrough) {
  const TlsFiles files = testing::client_files(ours_);
  const TlsFiles texts{text_of(files.authority), text_of(files.certificate), text_of(files.key)};
  const auto answer = ask("127.0.0.1", texts);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hi");
  io_.restart();
  TlsFiles broken = texts;
  broken.key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
  const auto refused = ask("127.0.0.1", broken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST_F(Tls, ServerName_IsWhatTheCertificateMustName) {
  EXPECT_TRUE(ask("127.0.0.1", testing::client_files(ours_), "localhost"));
  io_.restart();
  EXPECT_FALSE(ask("127.0.0.1", testing::client_files(ours_), "another.example"));
}

TEST_F(Tls, RightCertificates_LetTheRequestThrough) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    io_.restart();
    const auto response = ask(host, testing::client_files(ours_));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "hi");
  }
}

TEST_F(Tls, ServerOfAnotherAuthority_IsNotTrusted) {
  TlsFiles files = testing::client_files(ours_);
  files.authority = theirs_ + "/ca.pem";
  const auto response = ask("127.0.0.1", files);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::permission_denied) << response.error().message;
}

TEST_F(Tls, ServerOfAnotherName_IsNotTrusted) {
  // The whole of 127/8 is this machine, and the certificate does not name this part of it.
  acceptor_ = tcp::acceptor(io_, tcp::endpoint(asio::ip::make_address("127.0.0.2"), 0));
  const auto response = ask("127.0.0.2", testing::client_files(ours_));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::permission_denied) << response.error().message;
}

TEST_F(Tls, ClientTheServerDoesNotKnow_IsRefused) {
  TlsFiles files = testing::client_files(theirs_);
  files.authority = ours_ + "/ca.pem";
  const auto response = ask("127.0.0.1", files);
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().code, ErrorCode::timeout) << response.error().message;
}

TEST_F(Tls, MissingFile_IsNamed) {
  TlsFiles files = testing::client_files(ours_);
  files.key = "/nonexistent/key.pem";
  const auto response = ask("127.0.0.1", files);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(response.error().message.find("/nonexistent/key.pem"), std::string::npos);
}

}  // namespace
}  // namespace cloche::http
