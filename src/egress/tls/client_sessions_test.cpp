#include "egress/tls/client_sessions.hpp"

#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "egress/testing/identities.hpp"
#include "egress/testing/memory_stream.hpp"
#include "egress/tls/tls_stream.hpp"
#include "http/testing/scripted_server.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using namespace asio::experimental::awaitable_operators;
using testing::MemoryStream;
using testing::TestAuthority;
using testing_support::FailsWith;
using testing_support::Succeeds;

const std::string shop = "shop.example.org";
Deadline shortly() { return Deadline::after(std::chrono::minutes(1)); }

class Sessions : public ::testing::TestWithParam<int> {
 protected:
  Sessions() {
    Clocks clocks;
    clocks.wall = [this] { return now_; };
    sessions_.emplace(std::move(clocks));
    client_ = testing::only(authority_.client(), GetParam());
    ClientSessions::prepare(*client_);
  }

  // One connection on which the server says a word. Whether it was resumed, or the error of the client.
  Task<Result<bool>> visit(SslContext server, std::string name, std::string place) {
    auto [below_server, below_client] = MemoryStream::make_pair(io_.get_executor());
    Resumption from{&*sessions_, std::move(place)};
    auto both = co_await (TlsStream::accept(std::move(below_server), server, std::string(), shortly()) &&
                          TlsStream::connect(std::move(below_client), client_, name, shortly(), std::move(from)));
    auto& [accepted, connected] = both;
    if (!connected) co_return fail(connected.error());
    // With the word come the server's sessions.
    EXPECT_THAT(co_await (*accepted)->write_all("x", shortly()), Succeeds());
    std::array<char, 1> word;
    EXPECT_EQ((co_await (*connected)->read_some(word, shortly())).value_or(0), 1U);
    co_return (*connected)->is_resumed();
  }
  Result<bool> visited(SslContext server, std::string name = shop, std::string place = shop + ":443") {
    Result<bool> result = false;
    const auto body = [&]() -> Task<> { result = co_await visit(server, name, place); };
    io_.restart();
    EXPECT_TRUE(http::testing::run_to_end(io_, body, std::chrono::seconds(60)));
    return result;
  }

  asio::io_context io_;
  TestAuthority authority_;
  WallTime now_ = Clocks().wall();
  std::optional<ClientSessions> sessions_;
  SslContext client_;
  SslContext server_ = authority_.server(shop);
};
INSTANTIATE_TEST_SUITE_P(Versions, Sessions, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

TEST_P(Sessions, SecondConnection_IsResumed) {
  EXPECT_EQ(visited(server_), false);
  EXPECT_EQ(visited(server_), true);
  EXPECT_EQ(visited(server_), true);
  EXPECT_EQ(sessions_->size(), 1U);
}

TEST_P(Sessions, AnotherServer_IsVerified) {
  EXPECT_EQ(visited(server_), false);
  EXPECT_EQ(visited(server_, shop, shop + ":8443"), false);
  // A name that the certificate is not for is refused, though the same server was verified under its own name.
  EXPECT_THAT(visited(server_, "other.example.org", "other.example.org:443"), FailsWith(ErrorCode::permission_denied));
}

TEST_P(Sessions, ImpostorAfterAVisit_IsNotAccepted) {
  EXPECT_EQ(visited(server_), false);
  EXPECT_THAT(visited(TestAuthority::self_signed_server(shop)), FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(visited(authority_.server("other.example.org")), FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(visited(server_), Succeeds());
}

TEST_P(Sessions, VerificationOfLongAgo_IsDoneAgainHoweverOftenItWasResumed) {
  EXPECT_EQ(visited(server_), false);
  for (int i = 0; i < 9; ++i) {
    now_ += std::chrono::minutes(1);
    EXPECT_EQ(visited(server_), true) << i;
  }
  now_ += std::chrono::minutes(1);
  EXPECT_EQ(visited(server_), false);
  EXPECT_EQ(visited(server_), true);
}

TEST_P(Sessions, ClockThatWasSetBack_EndsThem) {
  EXPECT_EQ(visited(server_), false);
  now_ -= std::chrono::hours(1);
  EXPECT_EQ(visited(server_), false);
}

TEST_P(Sessions, CertificateThatHasExpiredMeanwhile_IsNotTrustedAnyLonger) {
  const SslContext brief = authority_.server(shop, {-1, 1});
  now_ += std::chrono::days(1) - std::chrono::minutes(1);
  EXPECT_EQ(visited(brief), false);
  EXPECT_EQ(visited(brief), true);
  now_ += std::chrono::minutes(2);
  EXPECT_EQ(visited(brief), false);
}

TEST_P(Sessions, ManyServers_AreForgottenInTurn) {
  const SslContext any = authority_.server(shop);
  for (std::size_t i = 0; i < ClientSessions::most_kept + 3; ++i) {
    EXPECT_EQ(visited(any, shop, "place " + std::to_string(i)), false);
  }
  EXPECT_EQ(sessions_->size(), ClientSessions::most_kept);
  EXPECT_EQ(visited(any, shop, "place 0"), false);
  EXPECT_EQ(visited(any, shop, "place " + std::to_string(ClientSessions::most_kept)), true);
}

}  // namespace
}  // namespace cloche::egress
