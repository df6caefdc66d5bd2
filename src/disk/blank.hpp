// Blank images: files of a fixed size that contain an empty ext4 file system.
//
// A file has no name: it goes with the last process or mount that uses it, whatever happens to Cloche, unless it is
// given one. mke2fs runs once for each size; after that an image is a copy of what mke2fs wrote, which is about 100
// KiB.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::disk {

class BlankImages {
 public:
  enum class Allocation { as_written, at_once };

  // What the file system is for.
  enum class Purpose {
    scratch,  // it goes with its sandbox, so it has no journal
    lasting,  // it survives a crash of the host, so it has one; its top directory belongs to lasting_owner
  };
  static constexpr unsigned lasting_owner = 1000;

  BlankImages(std::string directory, Allocation allocation, Purpose purpose = Purpose::scratch);

  // A new image, open for reading and writing. unsupported if the directory's file system has no files without names,
  // or if mke2fs is missing; limit_reached if the space cannot be allocated.
  Result<UniqueFd> make(Bytes size, const CancelToken& token);

 private:
  struct Piece {
    std::int64_t at = 0;
    std::string bytes;
  };
  using Template = std::vector<Piece>;

  Result<UniqueFd> open_unnamed(Bytes size) const;
  Result<Template> format(Bytes size, const CancelToken& token) const;
  // The mutex is held.
  Result<const Template*> template_for(Bytes size, const CancelToken& token);

  std::string directory_;
  Allocation allocation_;
  Purpose purpose_;
  std::mutex mutex_;
  std::map<Bytes, Template> templates_;
};

}  // namespace cloche::disk
