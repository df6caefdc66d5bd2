// RootStore: the images that were made for the oci backend, below <state_dir>/images.
//
//   images/python                     a link to the newest: what a profile names
//   images/roots/python-1f2e…/rootfs  one that was made; never changed afterwards
//   images/roots/python-1f2e…/image.json
//
// A new image replaces the link atomically. Sandboxes of the old one continue, because it stays until none uses it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::images {

struct BuiltRoot {
  std::string path;  // of the link
  std::string inputs;
  std::uint64_t bytes = 0;  // on the disk
  std::chrono::sys_seconds built;
};

// A directory to build an image in. It is removed with its contents when the object is destroyed. While it exists, no
// other process builds an image in this store.
class Draft {
 public:
  Draft(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Draft(Draft&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  const std::string& path() const { return path_; }
  std::string root() const { return path_ + "/rootfs"; }

 private:
  std::string path_;
  UniqueFd lock_;
};

class RootStore {
 public:
  explicit RootStore(const std::string& state_dir);

  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  // Nothing when it was never made, or is not whole.
  std::optional<BuiltRoot> find(const std::string& name) const;

  // Waits for another build, and removes what a killed one left.
  Result<Draft> draft(const CancelToken& token) const;
  // Makes the draft's rootfs the image of this name. Older ones go, but for those that a sandbox uses.
  Result<BuiltRoot> install(Draft draft, const std::string& name, const std::string& inputs) const;

 private:
  void remove_unused() const;

  std::string directory_;
};

}  // namespace cloche::images
