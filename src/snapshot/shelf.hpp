// Shelf: the pieces of one tenant's snapshots, each stored once, with the number of references to it. From any thread;
// blocking.
//
// A reference is held by each snapshot that exists, by each that is being taken and by each that is being read. A piece
// is removed with its last reference.
#pragma once

#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "snapshot/piece_files.hpp"

namespace cloche::snapshot {

// What a new piece must leave.
struct ShelfLimits {
  std::optional<Bytes> most;        // of all pieces of the tenant
  std::optional<Bytes> least_free;  // of the file system; without it a twentieth, 1 GiB at the most
};

class Shelf {
 public:
  explicit Shelf(std::string directory) : files_(std::move(directory)) {}

  // When the server starts: references of a snapshot that exists; then removes what nothing refers to.
  void count(const Tree& tree);
  Status sweep();
  // There may be references that are not known: nothing is removed any more.
  void keep_all();

  // A reference, to a piece that is written unless it is there. limit_reached beyond the limits.
  Status add(const Piece& piece, std::string_view bytes, const ShelfLimits& limits);
  // What was added survives a crash of the host from now on.
  Status sync() const { return sync_directory(files_.directory()); }
  // References, to pieces that are there. All or none: `internal` if one is missing.
  Status refer(const Tree& tree);
  void release(std::span<const Piece> pieces);

  Result<std::string> read(const Piece& piece) const { return files_.read(piece); }
  // Of all pieces, each counted once.
  Bytes stored() const;

 private:
  struct Held {
    std::uint32_t references = 0;
    std::uint32_t size = 0;
    bool is_written = false;
  };
  // Any bytes of a digest are as good as all.
  struct Hash {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof hash);
      return hash;
    }
  };
  // Whether it has to be written.
  Result<bool> begin_add(const Piece& piece, const ShelfLimits& limits);
  Status check_room(const Piece& piece, const ShelfLimits& limits) const;
  void release_one(const Piece& piece);

  PieceFiles files_;
  mutable std::mutex mutex_;
  std::unordered_map<Digest, Held, Hash> pieces_;
  std::uint64_t stored_ = 0;
  bool keeps_all_ = false;
};

}  // namespace cloche::snapshot
