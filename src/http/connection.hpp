// Connection: one connection of a client, on which requests and responses follow each other. Private to this folder.
#pragma once

#include <memory>
#include <string>

#include "http/message.hpp"
#include "http/response_reader.hpp"

namespace cloche::http {

class Connection {
 public:
  explicit Connection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Writes a whole request. The body may be cut short when the server has already answered and reads no further: then
  // the answer counts, and this returns without error if one can be read.
  Task<Status> write(const Request& request, std::string head, Deadline deadline);

  // Reads up to the end of the next response's head, informational responses (1xx but 101) left out.
  Task<Result<std::unique_ptr<ResponseReader>>> read_head(const Request& request, Deadline deadline);
  // The next piece of the body; empty at its end.
  Task<Result<std::string>> read_piece(ResponseReader& reader, const Request& request, Deadline deadline);
  // Reads the rest of the body into `sink`.
  Task<Status> read_body(ResponseReader& reader, const Request& request, const BodySink& sink, Deadline deadline);

  // True when nothing of the last exchange is left and the server has not hung up.
  bool can_be_reused() { return unread_.empty() && stream_->is_quiet(); }
  bool has_answered() const { return has_answered_; }

  // Ends pending steps with the error `cancelled`.
  void close() { stream_->close(); }

  std::unique_ptr<Stream> take_stream() { return std::move(stream_); }
  std::string take_unread() { return std::exchange(unread_, {}); }

 private:
  Task<Status> write_body(const Request& request, Deadline deadline);
  Task<Result<std::size_t>> read_more(const Request& request, Deadline deadline);

  std::unique_ptr<Stream> stream_;
  std::string unread_;         // came, and not used by a reader yet
  bool has_answered_ = false;  // some byte of the current response came
};

}  // namespace cloche::http
