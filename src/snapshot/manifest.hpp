// Manifest: what a snapshot is made of, and how that is written: pure.
//
// The files of a directory are a tar stream, and the stream is cut into pieces. The manifest names the pieces by their
// SHA-256. It ends with a SHA-256 of its own, so that a damaged one is noticed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/result.hpp"
#include "crypto/sha256.hpp"

namespace cloche::snapshot {

// The largest piece.
inline constexpr std::uint32_t most_of_piece = 1U << 20;
// Of one snapshot. The smallest cuts that Intake makes stay far below this.
inline constexpr std::size_t most_pieces = std::size_t{1} << 20;

struct Piece {
  Digest digest{};
  std::uint32_t size = 0;

  bool operator==(const Piece&) const = default;
};

// A tar stream.
using Tree = std::vector<Piece>;

struct SnapshotInfo {
  std::string id;
  std::string tenant;
  std::string name;  // empty: none
  std::string session;
  std::string profile;
  std::chrono::sys_seconds created;
  std::uint64_t files = 0;  // files, directories and links
  Bytes size;               // of their content

  bool operator==(const SnapshotInfo&) const = default;
};

struct Manifest {
  SnapshotInfo info;
  // A temporary one ends with the process that took it.
  enum class Lifetime { lasting, temporary } lifetime = Lifetime::lasting;
  Tree work;
  std::optional<Tree> home;  // none: the work directory was the home directory

  bool operator==(const Manifest&) const = default;
};

std::string write_manifest(const Manifest& manifest);
// `protocol` for bytes that write_manifest() did not write.
Result<Manifest> read_manifest(std::string_view bytes);

}  // namespace cloche::snapshot
