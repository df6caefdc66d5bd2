// BodyDecoder: takes the framing off a request's body, as it comes, in pieces of any size. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/server/request/request_head.hpp"

namespace cloche::http {

class BodyDecoder {
 public:
  explicit BodyDecoder(const Framing& framing);

  // Takes bytes from the front, appends what is body to `into`, at most `most` of it, and says how many it took. It
  // stops behind the body's last byte; what follows belongs to the next request. Trailers are checked and dropped.
  OrRequestError<std::size_t> feed(std::string_view bytes, std::string& into, std::size_t most);

  bool done() const { return state_ == State::done; }
  // How much is still to come, when that is known.
  std::optional<std::uint64_t> left() const;

 private:
  // Where in the framing the next byte stands.
  enum class State {
    plain,  // in a body of known length
    size_first_digit,
    size,
    extension,
    size_line_feed,
    data,
    data_return,
    data_line_feed,
    trailer,
    trailer_line_feed,
    done,
  };

  OrRequestError<void> take_framing(char c);
  OrRequestError<void> take_size(char c);
  OrRequestError<void> end_trailer();

  State state_;
  std::uint64_t left_ = 0;         // of the body, or of the chunk
  std::size_t line_length_ = 0;    // of the line with the size of a chunk
  std::size_t trailers_size_ = 0;  // of all
  std::uint64_t framing_ = 0;      // bytes of it so far
  std::uint64_t content_ = 0;      // bytes of the body so far
  std::string trailer_;            // the line that is being read
};

}  // namespace cloche::http
