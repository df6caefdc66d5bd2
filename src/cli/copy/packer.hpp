// Packer: files of this host as a tar archive, piece by piece: whatever their size, little of them is in memory.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "archive/tar_format.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::cli {

class Packer {
 public:
  // Packs `path` (symbolic links are followed in the argument itself, and nowhere below) under `name` in the archive;
  // an empty name packs the contents of the directory. What is neither a file, a directory nor a link is skipped and
  // counted. `limit_reached` if it is more than the service accepts.
  static Result<Packer> open(const std::string& path, const std::string& name);
  // A file that is open already.
  static Result<Packer> of_file(UniqueFd file, const std::string& name);

  // The next piece; empty at the end.
  Result<std::string> next();

  std::uint64_t total() const { return total_; }  // of all content
  std::uint64_t done() const { return done_; }
  std::size_t entries() const { return entries_; }
  std::size_t left_out() const { return left_out_; }

  // The limit of the service for one copy.
  static constexpr std::size_t most_entries = 10'000;
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

 private:
  struct Item {
    std::string below;  // the top; empty for the top itself
    tar::Entry entry;
  };

  Packer() = default;
  Status collect(UniqueFd top, const std::string& name);
  Status add(Item item);
  Result<std::string> begin_file(Item& item);

  UniqueFd top_;  // the directory, or the only file
  std::deque<Item> items_;
  UniqueFd file_;  // whose content comes
  std::string file_name_;
  std::uint64_t missing_ = 0;  // of it
  std::uint64_t padding_ = 0;
  bool ended_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::size_t entries_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace cloche::cli
