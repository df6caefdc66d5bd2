#include "snapshot/intake.hpp"

#include <algorithm>

#include "archive/tar_writer.hpp"
#include "snapshot/manifest.hpp"

namespace cloche::snapshot {

namespace {

// From this size on a file has pieces of its own.
constexpr std::uint64_t large_file = 64 << 10;
// Pieces of small files are at least this large, unless a large file follows.
constexpr std::size_t least_of_piece = 16 << 10;
// One name in so many ends a piece.
constexpr std::uint64_t names_per_piece = 64;
// Linux has shorter ones, but for paths of very deep trees.
constexpr std::size_t longest_path = 64 << 10;
constexpr std::size_t longest_link = 4096;

// FNV-1a and a last step that mixes all bits: the same on every host, at any time.
std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

std::unexpected<Error> bad_archive(const std::string& why) {
  return fail(ErrorCode::protocol, "the sandbox's agent sent an invalid archive: " + why);
}

}  // namespace

Intake::Intake(IntakeLimits limits, IntakeCounts& counts, std::vector<std::string> excluded, Taker taker)
    : limits_(limits), counts_(counts), excluded_(std::move(excluded)), taker_(std::move(taker)) {}

Status Intake::feed(std::string_view bytes) {
  reader_.feed(bytes);
  for (;;) {
    const auto event = reader_.next();
    if (!event) return bad_archive(event.error().message);
    switch (*event) {
      case tar::Reader::Event::more: return {};
      case tar::Reader::Event::entry: CLOCHE_CHECK(on_entry(reader_.entry())); break;
      case tar::Reader::Event::data: CLOCHE_CHECK(on_data(reader_.data())); break;
      case tar::Reader::Event::end: break;
    }
  }
}

Status Intake::finish() {
  if (auto complete = reader_.finish(); !complete) return bad_archive(complete.error().message);
  CLOCHE_CHECK(append(tar::end_mark()));
  return cut();
}

Status Intake::on_entry(const tar::Entry& entry) {
  // The top exists in every sandbox.
  is_left_out_ = entry.path.empty() || is_excluded(entry.path);
  missing_ = entry.size;
  if (is_left_out_) return {};
  // Our agents send every name of a file as a file.
  if (entry.type == tar::EntryType::hardlink) return bad_archive("a hard link");
  if (entry.path.size() > longest_path) return bad_archive("a path that is too long");
  if (entry.link.size() > longest_link) return bad_archive("a symbolic link that is too long");
  if (counts_.entries >= limits_.entries) {
    return fail(ErrorCode::limit_reached,
                "a snapshot may have " + std::to_string(limits_.entries) + " files, directories and links");
  }
  // The size that the header says is enough: the content need not come.
  if (entry.size > limits_.content.count - counts_.content) {
    return fail(ErrorCode::limit_reached,
                "the files of a snapshot may have " + to_string(limits_.content) + " together (snapshots.max_size)");
  }
  ++counts_.entries;
  counts_.content += entry.size;

  tar::Entry ours;
  ours.type = entry.type;
  ours.path = entry.path;
  if (entry.type == tar::EntryType::symlink) ours.link = entry.link;
  ours.size = entry.size;
  ours.mode = entry.mode;
  ours.mtime = entry.mtime;
  const std::string header = tar::header(ours);
  size_ = entry.size;
  is_large_ = entry.size >= large_file;
  ends_piece_ = name_hash(entry.path) % names_per_piece == 0;
  const std::uint64_t together = header.size() + (is_large_ ? 0 : entry.size + tar::padding_after(entry.size));
  if (piece_.size() + together > most_of_piece) CLOCHE_CHECK(cut());
  CLOCHE_CHECK(append(header));
  if (is_large_) return cut();
  return missing_ == 0 ? end_file() : Status();
}

Status Intake::on_data(std::string_view bytes) {
  missing_ -= bytes.size();
  if (is_left_out_) return {};
  CLOCHE_CHECK(append(bytes));
  return missing_ == 0 ? end_file() : Status();
}

Status Intake::end_file() {
  if (is_large_) CLOCHE_CHECK(cut());
  CLOCHE_CHECK(append(std::string(tar::padding_after(size_), '\0')));
  return ends_piece_ && piece_.size() >= least_of_piece ? cut() : Status();
}

bool Intake::is_excluded(std::string_view path) const {
  return std::ranges::any_of(excluded_, [&](const std::string& each) {
    return path.starts_with(each) && (path.size() == each.size() || path[each.size()] == '/');
  });
}

Status Intake::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, most_of_piece - piece_.size());
    piece_ += part;
    bytes.remove_prefix(part.size());
    if (piece_.size() == most_of_piece) CLOCHE_CHECK(cut());
  }
  return {};
}

Status Intake::cut() {
  if (piece_.empty()) return {};
  auto taken = taker_(piece_);
  piece_.clear();
  return taken;
}

}  // namespace cloche::snapshot
