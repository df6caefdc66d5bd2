// ImageStore: from what a caller names as an image to a directory with a root file system. What must be unpacked is
// unpacked once, and is there whole or not at all.
#pragma once

#include <string>

#include "backend/oci/watch.hpp"
#include "core/result.hpp"

namespace cloche::oci {

class ImageStore {
 public:
  explicit ImageStore(std::string directory);

  // `image` is the absolute path of a directory with a root file system, which is used where it is; of an OCI image
  // layout directory; or of an archive, as `docker save` writes it or of an OCI layout, compressed or not. not_found
  // when nothing is there, invalid_argument when it is none of these or not what its digests say.
  Result<std::string> root_of(const std::string& image, const Watch& watch) const;

 private:
  enum class Packing { layout, archive };

  Result<std::string> unpack_once(const std::string& image, Packing packing, const Watch& watch) const;
  Result<std::string> unpack(const std::string& image, Packing packing, const std::string& draft,
                             const Watch& watch) const;
  Result<std::string> known_root(const std::string& source) const;

  std::string directory_;
};

}  // namespace cloche::oci
