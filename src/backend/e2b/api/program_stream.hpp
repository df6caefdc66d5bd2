// ProgramStream: what happens to one program of a sandbox, as a stream of the service.
#pragma once

#include <memory>
#include <string>

#include "backend/e2b/api/messages.hpp"
#include "connect/envelope.hpp"
#include "core/async/task.hpp"
#include "http/client.hpp"

namespace cloche::e2b {

class ProgramStream {
 public:
  explicit ProgramStream(std::unique_ptr<http::ResponseStream> body);

  // The next event; keep-alives are left out. `unavailable` when the stream breaks off, `protocol` for anything that
  // is not such a stream, the service's own error where it reports one. One reader at a time.
  Task<Result<ProgramEvent>> next(Deadline deadline);
  // Ends a pending next().
  void close() { body_->close(); }

 private:
  std::unique_ptr<http::ResponseStream> body_;
  connect::EnvelopeReader reader_;
};

}  // namespace cloche::e2b
