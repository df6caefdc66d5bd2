// Intake: a tar stream from a sandbox's agent, checked, written again in our own form and cut into pieces. Pure.
//
// The agent may send anything. What comes out is a tar stream of files, directories and symbolic links whose names stay
// inside, of a bounded size, in pieces of a bounded size.
//
// Cuts depend on content, not on position, so that the same files give the same pieces when others are added before
// them: a large file has pieces of its own, and after some small files, chosen by their names, a new piece begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/tar_reader.hpp"
#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::snapshot {

struct IntakeLimits {
  Bytes content;              // of all files
  std::uint64_t entries = 0;  // files, directories and links
};

struct IntakeCounts {
  std::uint64_t content = 0;
  std::uint64_t entries = 0;
};

class Intake {
 public:
  // Takes the next piece of the stream that comes out.
  using Taker = std::function<Status(std::string_view piece)>;

  // `counts`: what counts already, and counts on. `excluded`: paths in the archive that are left out with all that is
  // below them.
  Intake(IntakeLimits limits, IntakeCounts& counts, std::vector<std::string> excluded, Taker taker);

  // `protocol` for what an agent must not send, `limit_reached` for too much; either is final.
  Status feed(std::string_view bytes);
  // At the end of the stream.
  Status finish();

 private:
  Status on_entry(const tar::Entry& entry);
  Status on_data(std::string_view bytes);
  Status end_file();
  bool is_excluded(std::string_view path) const;
  Status append(std::string_view bytes);
  Status cut();

  IntakeLimits limits_;
  IntakeCounts& counts_;
  std::vector<std::string> excluded_;
  Taker taker_;
  tar::Reader reader_;
  std::string piece_;

  // Of the entry whose content comes.
  bool is_left_out_ = false;
  bool is_large_ = false;
  bool ends_piece_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace cloche::snapshot
