// Unarchive: a tar archive that a service sends, put into a directory of this host: all of it or nothing.
//
// The service may be hostile: nothing is written outside the directory, no link is followed, and links that lead out of
// it are not made. Owners stay behind, and so do the bits that this process's umask forbids.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/files/operations/unpacker.hpp"
#include "archive/tar_reader.hpp"
#include "core/result.hpp"

namespace cloche::cli {

class Unarchive {
 public:
  // At the end the content is at `path`: a new directory, or merged into the existing one, file by file.
  static Result<std::unique_ptr<Unarchive>> into_directory(const std::string& path);
  // At the end the only file of the archive is at `path` and replaces any file there.
  static Result<std::unique_ptr<Unarchive>> into_file(const std::string& path);
  // An unfinished copy is removed.
  ~Unarchive();
  Unarchive(const Unarchive&) = delete;
  Unarchive& operator=(const Unarchive&) = delete;

  Status take(std::string_view bytes);
  // After the last bytes: moves all to its place.
  Status finish();

  std::uint64_t bytes() const { return bytes_; }  // of content, so far
  std::uint64_t total() const;                    // of content, as announced by the archive so far
  std::uint64_t entries() const;
  const std::vector<std::string>& left_out() const { return left_out_; }  // links that lead out

 private:
  enum class Wanted { directory, file };
  Unarchive() = default;
  static Result<std::unique_ptr<Unarchive>> make(const std::string& path, Wanted wanted);
  Status add(tar::Entry entry);
  Status finish_directory();
  Status finish_file();

  Wanted wanted_ = Wanted::directory;
  UniqueFd parent_;      // where the place is
  std::string name_;     // of the place
  UniqueFd existing_;    // the existing directory
  int holder_ = -1;      // the directory that has the staging directory in it
  std::string staging_;  // its name; empty if there is none
  UniqueFd staged_;
  tar::Reader reader_;
  std::unique_ptr<agent::Unpacker> unpacker_;
  std::set<std::string> links_;
  std::vector<std::string> left_out_;
  std::uint64_t link_count_ = 0;
  std::string file_name_;  // the archive's only file
  std::uint64_t bytes_ = 0;
};

// Whether a link at this path of a tree, with this target, stays in the tree whatever other links of this kind there
// are.
bool stays_inside(std::string_view path, std::string_view target);

}  // namespace cloche::cli
