// LayerReader: the entries of a tar archive, compressed or not, one after the other, and the digest of the whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

struct LayerEntry {
  enum class Kind { directory, file, link, hard_link, other };
  Kind kind = Kind::other;
  std::string name;    // as in the archive
  std::string target;  // of a link or a hard link
  mode_t mode = 0644;
  std::int64_t time = 0;
  std::uint64_t size = 0;  // what a file will have, its holes included
};

class LayerReader {
 public:
  // `most`: how large the archive may be, unpacked. Compressions: gzip, zstd, xz, bzip2. invalid_argument for others.
  static Result<std::unique_ptr<LayerReader>> open(UniqueFd file, std::string name, Bytes most, CancelToken token);
  ~LayerReader();

  // The next entry; nothing at the end.
  Result<std::optional<LayerEntry>> next();
  // Writes the content of the entry to a file, holes as holes.
  Status write_to(int fd);
  // Reads to the very end and returns the SHA-256 of the unpacked archive.
  Result<std::string> digest();

 private:
  LayerReader();
  struct State;
  std::unique_ptr<State> state_;
};

// The parts of a name in an archive, "." left out, a leading "/" ignored. invalid_argument for "..", NUL, an empty name
// where one is needed, or one that is too long.
Result<std::string> clean_archive_name(std::string_view name);

}  // namespace cloche::oci
