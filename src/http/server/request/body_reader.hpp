// BodyReader: a request's body as its handler reads it, within the limits on size, silence and rate. Private to this
// folder.
#pragma once

#include <optional>
#include <string>

#include "http/server/client_stream.hpp"
#include "http/server/request/body_budget.hpp"
#include "http/server/request/body_decoder.hpp"

namespace cloche::http {

class BodyReader {
 public:
  BodyReader(ClientStream& client_stream, const RequestHead& head, BodyShare& share);

  void allow(Bytes most) { most_ = most; }
  // From now on the reader keeps everything it reads, and charges the budget: for a known length immediately, before
  // anything is read, and for chunks as they arrive. `limit_reached` if there is no room or the body is too long.
  Status hold_all();
  // The next piece; an empty one at the end. `limit_reached` when the body is longer than allowed, `timeout` when it
  // comes too slowly, `protocol` when its framing is broken, `unavailable` when the client went away. An error is
  // final.
  Task<Result<std::string>> read_some();
  Task<Result<std::string>> read_all();

  bool done() const { return decoder_.done(); }
  // Records why the content of the body cannot be used. The rest can still be read.
  void reject(unsigned status, std::string why) { refusal_ = RequestError{status, std::move(why)}; }
  // The error for a client whose body could not be read; nothing if there was no error.
  const std::optional<RequestError>& refusal() const { return refusal_; }

  // True when what is left of the body is, or may be, little enough to be read and dropped.
  bool can_be_drained() const;
  // Reads what is left and drops it. False when it is too much or comes too slowly.
  Task<bool> drain();

 private:
  Task<Result<std::string>> next_piece();
  Task<Status> ask_to_continue();
  std::unexpected<Error> give_up(ErrorCode code, unsigned status, std::string why);
  std::unexpected<Error> too_long() {
    return give_up(ErrorCode::limit_reached, 413, "the body is larger than " + to_string(most_));
  }
  Deadline::Clock::duration window() const;
  void note_progress();

  ClientStream& client_stream_;
  BodyShare& share_;
  BodyDecoder decoder_;
  const bool expects_continue_;
  Bytes most_;
  std::uint64_t received_ = 0;
  std::uint64_t window_began_ = 0;      // at so many bytes
  Deadline::Clock::duration waited_{};  // for the client, in this window
  bool asked_ = false;                  // for any of it
  bool holds_chunks_ = false;
  std::optional<Error> error_;
  std::optional<RequestError> refusal_;
};

}  // namespace cloche::http
