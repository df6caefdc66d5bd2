// Where a server listens: TCP in both versions, TLS, unix sockets, several at once; and how many it lets in.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/ssl.hpp>
#include <filesystem>
#include <fstream>

#include "core/ids.hpp"
#include "core/unique_fd.hpp"
#include "http/client.hpp"
#include "http/server/testing/served.hpp"
#include "http/server/unix_socket_file.hpp"
#include "http/testing/certificates.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;
using testing::Served;
namespace ssl = asio::ssl;
using asio::ip::tcp;

const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

class Listening : public Served {
 public:
  Listening() { std::filesystem::create_directory(directory_); }
  ~Listening() override { std::filesystem::remove_all(directory_); }

 protected:
  Task<Result<Response>> ask_at(Endpoint endpoint) {
    Client client(io_.get_executor(), endpoint);
    Request request;
    request.method = "GET";
    request.target = "/where";
    co_return co_await client.send(std::move(request), Deadline::after(10s));
  }
  // Starts a server that is expected not to start.
  Error trouble_with(ServerOptions options) {
    Error error;
    io_.restart();
    EXPECT_TRUE(testing::run_to_end(io_, [&]() -> Task<> {
      Server server(io_.get_executor(), options, handler_);
      auto started = co_await server.start();
      EXPECT_FALSE(started);
      if (!started) error = started.error();
    }));
    return error;
  }

  const std::string directory_ = std::filesystem::temp_directory_path() / ("cloche-listen-" + random_hex(6));
  const std::string path_ = directory_ + "/server.sock";
};

TEST_F(Listening, SeveralPlaces_AreAllServed) {
  ListenUnix local;
  local.path = path_;
  local.mode = 0640;
  ListenTcp six;
  six.host = "::1";
  options_.listen.emplace_back(local);
  options_.listen.emplace_back(six);
  std::vector<std::string> peers;
  handler_ = [&](Exchange& exchange) -> Task<> {
    peers.push_back(exchange.peer().describe());
    Fields fields;
    co_await exchange.respond(204, std::move(fields), "");
  };
  run([&]() -> Task<> {
    const auto& where = server_->listens_on();
    EXPECT_EQ(where.size(), 3u);
    struct stat status{};
    EXPECT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    TcpEndpoint four_end{"127.0.0.1", std::to_string(where[0].port)};
    UnixEndpoint local_end{path_};
    TcpEndpoint six_end{"::1", std::to_string(where[2].port)};
    std::vector<Endpoint> ends;
    ends.emplace_back(four_end);
    ends.emplace_back(local_end);
    ends.emplace_back(six_end);
    for (const Endpoint& end : ends) {
      auto response = co_await ask_at(end);
      EXPECT_TRUE(response) << response.error().message;
    }
  });
  ASSERT_EQ(peers.size(), 3u);
  EXPECT_TRUE(peers[0].starts_with("127.0.0.1:"));
  EXPECT_EQ(peers[1], "unix:pid=" + std::to_string(::getpid()) + ",uid=" + std::to_string(::getuid()));
  EXPECT_TRUE(peers[2].starts_with("[::1]:"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Listening, SocketFileNobodyAnswersOn_IsReplacedAndAnotherServersIsNot) {
  {
    auto left_behind = UnixSocketFile::bind(path_, 0600);
    ASSERT_TRUE(left_behind);
    EXPECT_FALSE(UnixSocketFile::bind(path_, 0600));
    left_behind->socket.reset();  // and the file stays
    auto bound = UnixSocketFile::bind(path_, 0600);
    ASSERT_TRUE(bound) << bound.error().message;
  }
  // The file of the first one had been replaced when it was removed; the second one removed its own file.
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Listening, PlaceThatIsTaken_IsNamed) {
  std::ofstream(path_) << "precious";
  ServerOptions options;
  ListenUnix local;
  local.path = path_;
  options.listen.emplace_back(local);
  EXPECT_EQ(trouble_with(options).code, ErrorCode::already_exists);
  EXPECT_TRUE(std::filesystem::exists(path_));
  local.path = directory_ + "/" + std::string(200, 'x');
  options.listen = {local};
  EXPECT_EQ(trouble_with(options).code, ErrorCode::invalid_argument);
  tcp::acceptor taken(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  ListenTcp listen;
  listen.host = "127.0.0.1";
  listen.port = taken.local_endpoint().port();
  options.listen = {listen};
  EXPECT_NE(trouble_with(options).message.find(std::to_string(listen.port)), std::string::npos);
}

class ListeningWithTls : public Listening {
 protected:
  ListeningWithTls() {
    testing::make_certificates(directory_);
    ServerCertificate certificate;
    certificate.chain = directory_ + "/server-cert.pem";
    certificate.key = directory_ + "/server-key.pem";
    ListenTcp listen;
    listen.host = "127.0.0.1";
    listen.certificate = certificate;
    options_.listen = {listen};
  }
  Task<Result<Response>> ask_over_tls() {
    TlsEndpoint endpoint{"127.0.0.1", std::to_string(port()), testing::client_files(directory_)};
    Endpoint end = endpoint;
    return ask_at(std::move(end));
  }
};

TEST_F(ListeningWithTls, Clients_AreServed) {
  handler_ = [](Exchange& exchange) -> Task<> {
    EXPECT_TRUE(exchange.peer().encrypted);
    Fields fields;
    co_await exchange.respond(200, std::move(fields), std::string(300'000, 'x'));
  };
  run([&]() -> Task<> {
    auto response = co_await ask_over_tls();
    EXPECT_TRUE(response) << response.error().message;
    EXPECT_TRUE(response && response->body.size() == 300'000);
  });
}

TEST_F(ListeningWithTls, HangUp_CancelsTheHandler) {
  bool begun = false;
  bool ended = false;
  handler_ = [&](Exchange&) -> Task<> {
    begun = true;
    changed_.notify();
    struct Mark {
      ~Mark() {
        flag = true;
        event.notify();
      }
      bool& flag;
      Event& event;
    } const mark{ended, changed_};
    Event never(co_await asio::this_coro::executor);
    co_await never.wait();
  };
  run([&]() -> Task<> {
    ssl::context context(ssl::context::tls_client);
    ssl::stream<tcp::socket> client(io_, context);
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port());
    co_await client.next_layer().async_connect(where, asio::use_awaitable);
    co_await client.async_handshake(ssl::stream_base::client, asio::use_awaitable);
    co_await asio::async_write(client, asio::buffer(get), asio::use_awaitable);
    while (!begun) co_await changed_.wait();
    client.next_layer().close();
    while (!ended) co_await changed_.wait();
  });
}

TEST_F(ListeningWithTls, OldVersionsAndPlainText_AreRefused) {
  options_.limits.handshake = 1s;
  run([&]() -> Task<> {
    ssl::context context(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_1_VERSION);
    SSL_CTX_set_max_proto_version(context.native_handle(), TLS1_1_VERSION);
    SSL_CTX_set_security_level(context.native_handle(), 0);
    ssl::stream<tcp::socket> client(io_, context);
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port());
    co_await client.next_layer().async_connect(where, asio::use_awaitable);
    boost::system::error_code code;
    co_await client.async_handshake(ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, code));
    EXPECT_TRUE(code);
    auto plain = co_await connect();
    co_await plain->send(get);
    const Response answer = co_await plain->answer();
    EXPECT_EQ(answer.status, 0u);
  });
}

TEST_F(ListeningWithTls, HandshakeThatDoesNotComeToItsEnd_IsCut) {
  options_.limits.handshake = 50ms;
  run([&]() -> Task<> {
    auto client = co_await connect();
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
  });
}

TEST_F(ListeningWithTls, ReloadedCertificate_IsUsedAndABrokenOneIsNot) {
  run([&]() -> Task<> {
    testing::make_certificates(directory_);  // of a new authority, which the clients know from now on
    auto stale = co_await ask_over_tls();
    EXPECT_FALSE(stale);
    const auto reloaded = server_->reload_certificates();
    EXPECT_TRUE(reloaded);
    auto fresh = co_await ask_over_tls();
    EXPECT_TRUE(fresh) << fresh.error().message;
    std::ofstream(directory_ + "/server-key.pem") << "no key";
    const auto broken = server_->reload_certificates();
    EXPECT_FALSE(broken);
    auto still = co_await ask_over_tls();
    EXPECT_TRUE(still) << still.error().message;
  });
}

TEST_F(Listening, TooManyConnections_GetA503AtOnceAndRoomAfterwards) {
  options_.limits.connections = 2;
  int at_work = 0;
  bool let_go = false;
  handler_ = [&](Exchange& exchange) -> Task<> {
    ++at_work;
    changed_.notify();
    while (!let_go) co_await changed_.wait();
    Fields fields;
    co_await exchange.respond(200, std::move(fields), "finished");
  };
  run([&]() -> Task<> {
    auto first = co_await connect();
    auto second = co_await connect();
    co_await first->send(get);
    co_await second->send(get);
    while (at_work < 2) co_await changed_.wait();
    for (int i = 0; i < 20; ++i) {
      auto third = co_await connect();
      co_await third->send(get);
      const Response answer = co_await third->answer();
      EXPECT_EQ(answer.status, 503u);
      EXPECT_EQ(answer.field("Retry-After"), "1");
    }
    EXPECT_EQ(server_->counts().refused_connections, 20u);
    let_go = true;
    changed_.notify();
    co_await first->answer();
    first->close();
    while (server_->counts().open_connections > 1) co_await pause_for(1ms);
    const Response answer = co_await ask(get);
    EXPECT_EQ(answer.status, 200u);
  });
}

TEST_F(Listening, ShutDown_ClosesIdleConnectionsAtOnceAndLetsOthersFinish) {
  bool begun = false;
  bool let_go = false;
  handler_ = [&](Exchange& exchange) -> Task<> {
    if (exchange.target().path == "/slow") {
      begun = true;
      changed_.notify();
      co_await exchange.wait_until_server_stops();
      while (!let_go) co_await changed_.wait();
    }
    Fields fields;
    co_await exchange.respond(200, std::move(fields), "finished");
  };
  run([&]() -> Task<> {
    auto idle = co_await connect();
    co_await idle->send(get);
    co_await idle->answer();
    auto busy = co_await connect();
    co_await busy->send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
    while (!begun) co_await changed_.wait();
    TaskGroup tasks(io_.get_executor());
    bool stopped = false;
    tasks.spawn("stop", [&]() -> Task<> {
      co_await server_->shut_down(Deadline::after(10s));
      stopped = true;
    });
    const bool idle_ends = co_await idle->ends();
    EXPECT_TRUE(idle_ends);
    EXPECT_FALSE(stopped);
    let_go = true;
    changed_.notify();
    const Response answer = co_await busy->answer();
    EXPECT_EQ(answer.body, "finished");
    EXPECT_EQ(answer.field("Connection"), "close");
    busy->close();
    co_await tasks.join();
    EXPECT_TRUE(stopped);
    RawClient late(io_.get_executor());
    bool refused = false;
    try {
      co_await late.connect(port());
    } catch (const boost::system::system_error&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
  });
}

TEST_F(Listening, ShutDown_CutsWhatIsNotDoneAtItsDeadline) {
  bool begun = false;
  bool ended = false;
  handler_ = [&](Exchange&) -> Task<> {
    begun = true;
    changed_.notify();
    struct Mark {
      ~Mark() { flag = true; }
      bool& flag;
    } const mark{ended};
    Event never(co_await asio::this_coro::executor);
    co_await never.wait();
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    while (!begun) co_await changed_.wait();
    co_await server_->shut_down(Deadline::after(30ms));
    EXPECT_TRUE(ended);
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
  });
}

}  // namespace
}  // namespace cloche::http
