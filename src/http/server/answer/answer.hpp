// Answer: the one answer to a request, whole or in pieces. Private to this folder.
#pragma once

#include <functional>
#include <string>

#include "http/server/answer/answer_head.hpp"
#include "http/server/client_stream.hpp"

namespace cloche::http {

// The properties of a request that its response depends on.
struct AnswerTo {
  bool is_head = false;
  Version version = Version::http_1_1;
  std::string request_id;
  std::function<bool()> may_go_on;  // asked when the answer begins: may the connection be kept?
  Role role = Role::origin;
};

class Answer {
 public:
  Answer(ClientStream& client_stream, AnswerTo to) : client_stream_(client_stream), to_(std::move(to)) {}

  Task<Status> respond(unsigned status, const Fields& fields, std::string_view body);
  // In pieces; `length` if the whole length is known in advance.
  Task<Status> begin(unsigned status, const Fields& fields, std::optional<std::uint64_t> length);
  Task<Status> write(std::string_view piece);
  Task<Status> end();
  // From now on the stream belongs to another protocol.
  Task<Status> switch_protocols(const Fields& fields);
  // The same after CONNECT: 200.
  Task<Status> accept_tunnel();
  // The same when the other protocol writes the head itself.
  Status hand_over(unsigned status);

  bool begun() const { return stage_ != Stage::nothing; }
  bool complete() const { return stage_ == Stage::complete; }
  bool switched() const { return stage_ == Stage::switched; }
  bool keeps_connection() const { return complete() && keeps_connection_ && !client_stream_.broken(); }
  unsigned status() const { return status_; }

 private:
  enum class Stage { nothing, streaming, complete, switched };

  Result<std::string> start(unsigned status, const Fields& fields, AnswerFraming framing, std::uint64_t length);

  ClientStream& client_stream_;
  AnswerTo to_;
  Stage stage_ = Stage::nothing;
  unsigned status_ = 0;
  AnswerFraming framing_ = AnswerFraming::none;
  std::uint64_t left_ = 0;  // of an answer whose length is known
  bool keeps_connection_ = false;
};

}  // namespace cloche::http
