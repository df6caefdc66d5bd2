#include "snapshot/shelf.hpp"

#include <sys/statvfs.h>

#include <algorithm>

#include "core/fault_point.hpp"
#include "core/log.hpp"

namespace cloche::snapshot {

void Shelf::count(const Tree& tree) {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : tree) {
    Held& held = pieces_[piece.digest];
    if (held.references++ == 0) stored_ += piece.size;
    held.size = piece.size;
  }
}

Status Shelf::sweep() {
  const std::lock_guard lock(mutex_);
  CLOCHE_TRY(const auto names, names_in(files_.directory()));
  for (const std::string& name : names) {
    const auto digest = digest_from_hex(name);
    const auto held = digest ? pieces_.find(*digest) : pieces_.end();
    if (held != pieces_.end()) {
      held->second.is_written = true;
    } else if (digest && !keeps_all_) {
      files_.remove(*digest);
    } else if (is_draft(name)) {
      files_.remove_name(name);
    }
  }
  return {};
}

void Shelf::keep_all() {
  const std::lock_guard lock(mutex_);
  keeps_all_ = true;
}

Status Shelf::check_room(const Piece& piece, const ShelfLimits& limits) const {
  const Bytes now{stored_};
  if (limits.most && (piece.size > limits.most->count || now.count > limits.most->count - piece.size)) {
    return fail(ErrorCode::limit_reached, "the snapshots of a tenant may have " + to_string(*limits.most) +
                                              " together, as stored, and have " + to_string(now) +
                                              "; delete a snapshot");
  }
  struct statvfs about{};
  if (::statvfs(files_.directory().c_str(), &about) != 0) return fail_errno("inspect the file system of snapshots");
  const std::uint64_t unit = about.f_frsize;
  const Bytes usual{std::min(mib(1024).count, about.f_blocks * unit / 20)};
  if (about.f_bavail * unit < limits.least_free.value_or(usual).count + piece.size) {
    return fail(ErrorCode::limit_reached, "the server's disk is almost full, so there is no room for a snapshot");
  }
  return {};
}

Result<bool> Shelf::begin_add(const Piece& piece, const ShelfLimits& limits) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(piece.digest);
  if (found == pieces_.end()) {
    CLOCHE_CHECK(check_room(piece, limits));
    pieces_.emplace(piece.digest, Held{.references = 1, .size = piece.size});
    stored_ += piece.size;
    return true;
  }
  Held& held = found->second;
  // One that another snapshot is just writing is written twice, with the same content.
  const bool is_there = held.is_written && files_.has(piece);
  ++held.references;
  return !is_there;
}

Status Shelf::add(const Piece& piece, std::string_view bytes, const ShelfLimits& limits) {
  CLOCHE_TRY(const bool is_new, begin_add(piece, limits));
  if (!is_new) return {};
  struct Undo {
    Undo(Shelf& s, const Piece& p) : shelf(s), added(p) {}
    ~Undo() {
      if (armed) shelf.release({&added, 1});
    }
    Shelf& shelf;
    const Piece& added;
    bool armed = true;
  } undo(*this, piece);
  fault_point<"snapshot.take.piece">();
  CLOCHE_CHECK(files_.write(piece, bytes));
  const std::lock_guard lock(mutex_);
  undo.armed = false;
  pieces_.at(piece.digest).is_written = true;
  return {};
}

Status Shelf::refer(const Tree& tree) {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : tree) {
    const auto found = pieces_.find(piece.digest);
    if (found != pieces_.end() && found->second.is_written) continue;
    log::error("snapshots: piece {}/{} is missing", files_.directory(), to_hex(piece.digest));
    return fail(ErrorCode::internal, "a part of the snapshot is missing; delete the snapshot");
  }
  for (const Piece& piece : tree) ++pieces_.at(piece.digest).references;
  return {};
}

void Shelf::release(std::span<const Piece> pieces) {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : pieces) release_one(piece);
}

void Shelf::release_one(const Piece& piece) {
  const auto found = pieces_.find(piece.digest);
  if (found == pieces_.end() || --found->second.references > 0) return;
  stored_ -= found->second.size;
  pieces_.erase(found);
  if (!keeps_all_) files_.remove(piece.digest);
}

Bytes Shelf::stored() const {
  const std::lock_guard lock(mutex_);
  return Bytes{stored_};
}

}  // namespace cloche::snapshot
