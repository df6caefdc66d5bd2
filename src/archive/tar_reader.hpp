// Reads a tar archive from bytes as they come: no I/O here. It understands ustar, pax (path, linkpath, size, mtime) and
// GNU long names; it refuses what should not be unpacked: devices, FIFOs, sparse files, absolute names, `..`.
#pragma once

#include <string>
#include <string_view>

#include "archive/tar_extensions.hpp"
#include "archive/tar_format.hpp"
#include "core/result.hpp"

namespace cloche::tar {

class Reader {
 public:
  // Takes bytes in; they must live until next() says `more`, and until then no others may be given.
  void feed(std::string_view bytes) { input_ = bytes; }

  enum class Event {
    more,   // feed again, or finish()
    entry,  // entry() is the next one; its content follows
    data,   // data() is a piece of the entry's content
    end,    // the archive's end mark was read; what follows is ignored
  };
  // An error is final and names the entry it is about.
  Result<Event> next();

  const Entry& entry() const { return entry_; }
  std::string_view data() const { return data_; }

  // When no bytes are left to feed: invalid_argument if the archive is not complete.
  Status finish() const;

 private:
  enum class State { header, extension, content, padding, done };

  // Collects one block; true once it is whole, and block_ then holds it.
  bool take_block();
  Result<Event> on_header();
  Status start_extension(char type, std::uint64_t size);
  Status end_extension();
  Status start_entry(char type);
  Status set_type(char type, bool slash_at_end);
  std::unexpected<Error> refuse(ErrorCode code, const std::string& why) const;
  void skip_padding(std::uint64_t size);

  State state_ = State::header;
  std::string_view input_;
  std::string block_;
  std::uint64_t remaining_ = 0;  // of the content, the extension or the padding
  bool zero_block_seen_ = false;
  bool anything_seen_ = false;

  char extension_type_ = 0;
  std::uint64_t extension_size_ = 0;
  std::string extension_;
  Extensions extensions_;

  std::string name_;  // of the entry, as the archive has it, for messages
  Entry entry_;
  std::string_view data_;
};

}  // namespace cloche::tar
