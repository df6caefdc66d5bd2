// A file that is not visible until it is complete.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

// A name for something temporary: `.cloche-` and random letters.
std::string temporary_name();
bool is_temporary_name(std::string_view name);

// Whether pending files in this directory have no name, so that a temporary one is used only to replace a file.
bool has_unnamed_files(int directory);

// Has no name at all (O_TMPFILE) or, where the file system cannot do that, a temporary one. Unless published it
// vanishes; a temporary name is left behind only by a process that is killed.
class PendingFile {
 public:
  // In this directory, whose descriptor must outlive the file.
  static Result<PendingFile> create(int parent);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  int fd() const { return fd_.get(); }
  // Gives it this name, atomically in place of a file that has it.
  Status publish(const std::string& name);
  // The same; already_exists where the name is taken.
  Status publish_new(const std::string& name);

 private:
  PendingFile(int parent, UniqueFd fd, std::string name)
      : parent_(parent), fd_(std::move(fd)), name_(std::move(name)) {}
  Status rename_to(const std::string& name);

  int parent_;
  UniqueFd fd_;
  std::string name_;  // empty while it has none
};

}  // namespace cloche::agent
