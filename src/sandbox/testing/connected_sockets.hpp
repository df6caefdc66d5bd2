// Two TCP sockets of the loopback that are connected to each other.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "core/async/task.hpp"

namespace cloche {

inline std::pair<asio::ip::tcp::socket, asio::ip::tcp::socket> connected_sockets(const Executor& executor) {
  using asio::ip::tcp;
  tcp::acceptor acceptor(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket one(executor);
  one.connect(acceptor.local_endpoint());
  tcp::socket other = acceptor.accept();
  one.non_blocking(true);
  other.non_blocking(true);
  return {std::move(one), std::move(other)};
}

}  // namespace cloche
