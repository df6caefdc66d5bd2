#include "agent/local_socket.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cloche::agent {
namespace {

std::string own_name() { return "cloche-test-" + std::to_string(::getpid()); }

TEST(LocalSocket, NameThatIsTaken_CannotBeListenedAtTwice) {
  const UniqueFd listener = listen_locally(own_name(), 1);
  ASSERT_TRUE(listener);
  EXPECT_FALSE(listen_locally(own_name(), 1));
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(LocalSocket, NameAtWhichNoProcessListens_IsRefused) {
  EXPECT_FALSE(connect_locally(own_name()));
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(LocalSocket, Credentials_ComeWithTheFirstByteAndNotAfterIt) {
  const UniqueFd listener = listen_locally(own_name(), 1);
  const UniqueFd client = connect_locally(own_name());
  ASSERT_TRUE(client);
  const UniqueFd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(server);
  EXPECT_EQ(peer_of(server.get()).value_or(ucred{}).pid, ::getpid());
  ASSERT_TRUE(expect_credentials(server.get()));
  EXPECT_EQ(read_credentials(server.get()).state, Credentials::State::awaited);
  ASSERT_TRUE(send_credentials(client.get()));
  const Credentials found = read_credentials(server.get());
  EXPECT_EQ(found.state, Credentials::State::known);
  EXPECT_EQ(found.sender.pid, ::getpid());
  EXPECT_EQ(found.sender.uid, ::geteuid());
  ASSERT_EQ(::send(client.get(), "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(read_credentials(server.get()).state, Credentials::State::missing);
}

}  // namespace
}  // namespace cloche::agent
