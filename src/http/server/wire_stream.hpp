// WireStream: a connection that speaks another protocol now, as a plain stream. Private to this folder.
#pragma once

#include "http/server/wire.hpp"

namespace cloche::http {

class WireStream final : public Stream {
 public:
  explicit WireStream(Wire& wire) : wire_(wire) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override { return wire_.end_writing(deadline); }
  void close() override { wire_.close(); }
  bool is_quiet() override { return wire_.inflow().bytes().empty() && !wire_.inflow().ended(); }

 private:
  Wire& wire_;
};

}  // namespace cloche::http
