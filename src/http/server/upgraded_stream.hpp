// UpgradedStream: a connection that has switched to another protocol, as a plain stream. Private to this folder.
#pragma once

#include "http/server/client_stream.hpp"

namespace cloche::http {

class UpgradedStream final : public Stream {
 public:
  explicit UpgradedStream(ClientStream& client_stream) : client_stream_(client_stream) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override { return client_stream_.end_writing(deadline); }
  void close() override { client_stream_.close(); }
  bool is_quiet() override { return client_stream_.inflow().bytes().empty() && !client_stream_.inflow().ended(); }
  asio::ip::tcp::socket* bare_socket(Direction direction) override { return client_stream_.bare_socket(direction); }
  Status moved(std::size_t read, std::size_t written) override;

 private:
  ClientStream& client_stream_;
};

}  // namespace cloche::http
