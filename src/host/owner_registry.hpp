// OwnerRegistry: who on this host owns sandboxes, and whether they are alive.
//
// Every process that creates sandboxes holds a lock on a file named by its owner id, for as long as it lives. So
// liveness is a lock test and never a guess from a process id. The file is locked before it gets its name: a file that
// another process can lock belongs to an owner whose process has ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

// What the file of an owner says.
struct OwnerEntry {
  std::string id;
  std::string name;     // the instance's name, for people; empty for an owner that ends with its process
  std::string backend;  // oci, docker, e2b, kubernetes
  std::string engine;   // docker: which one
  std::string state;    // the directory that keeps the identity; empty for an owner that ends with its process
  std::string run_dir;
  pid_t pid = 0;  // for people: the lock shows which owner is alive

  bool ends_with_its_process() const { return state.empty(); }
};

// The lock on an owner's file. Without release() the file stays, and says that its owner was not there to clean up.
class OwnerLock {
 public:
  enum class Found { nothing, earlier };  // whether an earlier process of this owner left its file
  OwnerLock(OwnerEntry entry, std::string path, UniqueFd file, Found found)
      : entry_(std::move(entry)), path_(std::move(path)), file_(std::move(file)), found_(found) {}

  const OwnerEntry& entry() const { return entry_; }
  Found found() const { return found_; }
  // Nothing is left that carries the id: the file goes.
  void release();

 private:
  OwnerEntry entry_;
  std::string path_;
  UniqueFd file_;
  Found found_;
};

class OwnerRegistry {
 public:
  explicit OwnerRegistry(std::string directory) : directory_(std::move(directory)) {}
  // One for the whole host. Users other than root cannot write there, and have one in each of their run directories.
  static OwnerRegistry of_host(const EngineOptions& options);

  const std::string& directory() const { return directory_; }

  // Becomes the owner. already_exists, with the entry's process, when another process is.
  Result<OwnerLock> hold(OwnerEntry entry) const;
  // All entries, of the living and of the dead.
  Result<std::vector<OwnerEntry>> entries() const;
  std::optional<OwnerEntry> find(const std::string& id) const;
  // The lock of an owner whose process has ended. Nothing when it is alive, or was never here.
  std::optional<OwnerLock> take_over(const std::string& id) const;
  bool is_alive(const std::string& id) const;

 private:
  std::string path_of(const std::string& id) const { return directory_ + "/" + id; }
  Result<std::optional<OwnerLock>> try_new(const OwnerEntry& entry) const;
  Result<std::optional<OwnerLock>> try_present(const OwnerEntry& entry) const;

  std::string directory_;
};

// Takes the lock; waits as long as a child of a killed process may still have it. 0, or the errno of the last try.
int lock_file_soon(int file);

}  // namespace cloche
