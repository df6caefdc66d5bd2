#include "http/gunzip.hpp"

#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <optional>

namespace cloche::http {

namespace {

namespace zlib = boost::beast::zlib;

constexpr std::size_t decoded_piece = std::size_t{64} * 1024;
constexpr std::size_t longest_gzip_head = std::size_t{64} * 1024;
constexpr std::size_t fixed_head = 10;
constexpr std::size_t trailer = 8;

std::unexpected<Error> not_gzip(std::string_view why) {
  return fail(ErrorCode::invalid_argument, "the body is not valid gzip: " + std::string(why));
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

// The length of a member's head; nullopt if it is not all there yet.
Result<std::optional<std::size_t>> head_length(std::string_view bytes) {
  if (bytes.size() < fixed_head) return std::nullopt;
  if (bytes.substr(0, 3) != "\x1f\x8b\x08") return not_gzip("wrong magic number");
  const auto flags = static_cast<unsigned char>(bytes[3]);
  std::size_t at = fixed_head;
  if ((flags & 0x04) != 0) {  // extra fields
    if (bytes.size() < at + 2) return std::nullopt;
    at += 2 + little_endian(bytes.substr(at, 2));
  }
  for (const unsigned text : {0x08U, 0x10U}) {  // name, comment
    if ((flags & text) == 0) continue;
    if (at >= bytes.size()) return std::nullopt;
    const auto end = bytes.find('\0', at);
    if (end == std::string_view::npos) return std::nullopt;
    at = end + 1;
  }
  if ((flags & 0x02) != 0) at += 2;  // checksum of the head
  if (bytes.size() < at) return std::nullopt;
  return at;
}

}  // namespace

struct Gunzip::State {
  enum class Phase { head, content, end } phase = Phase::head;
  bool is_fresh = true;  // before the first member
  std::string bytes;     // not used yet
  zlib::inflate_stream inflate;
  boost::crc_32_type checksum;
  std::uint32_t size = 0;
};

Gunzip::Gunzip() : state_(std::make_unique<State>()) {}
Gunzip::Gunzip(Gunzip&&) noexcept = default;
Gunzip& Gunzip::operator=(Gunzip&&) noexcept = default;
Gunzip::~Gunzip() = default;

void Gunzip::feed(std::string piece) {
  if (state_->bytes.empty()) {
    state_->bytes = std::move(piece);
  } else {
    state_->bytes += piece;
  }
}

bool Gunzip::is_complete() const {
  return state_->phase == State::Phase::head && !state_->is_fresh && state_->bytes.empty();
}

Result<std::string> Gunzip::next() {
  State& s = *state_;
  for (;;) {
    if (s.phase == State::Phase::head) {
      CLOCHE_TRY(const auto length, head_length(s.bytes));
      if (!length) {
        if (s.bytes.size() > longest_gzip_head) return not_gzip("its head is too long");
        return std::string();
      }
      s.bytes.erase(0, *length);
      s.inflate.reset();
      s.checksum.reset();
      s.size = 0;
      s.is_fresh = false;
      s.phase = State::Phase::content;
    }
    if (s.phase == State::Phase::content) {
      if (s.bytes.empty()) return std::string();
      std::string out(decoded_piece, '\0');
      zlib::z_params params;
      params.next_in = s.bytes.data();
      params.avail_in = s.bytes.size();
      params.next_out = out.data();
      params.avail_out = out.size();
      boost::system::error_code error;
      s.inflate.write(params, zlib::Flush::sync, error);
      if (error && error != zlib::error::end_of_stream && error != zlib::error::need_buffers)
        return not_gzip("its content is corrupt");
      out.resize(out.size() - params.avail_out);
      s.bytes.erase(0, s.bytes.size() - params.avail_in);
      s.checksum.process_bytes(out.data(), out.size());
      s.size += static_cast<std::uint32_t>(out.size());
      if (error == zlib::error::end_of_stream) s.phase = State::Phase::end;
      if (!out.empty()) return out;
      if (s.phase == State::Phase::content) return std::string();
    }
    if (s.bytes.size() < trailer) return std::string();
    const std::string_view end(s.bytes);
    if (little_endian(end.substr(0, 4)) != s.checksum.checksum() || little_endian(end.substr(4, 4)) != s.size)
      return not_gzip("wrong checksum");
    s.bytes.erase(0, trailer);
    s.phase = State::Phase::head;
    if (s.bytes.empty()) return std::string();
  }
}

}  // namespace cloche::http
