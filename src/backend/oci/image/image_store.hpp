// ImageStore: from the name of an image to a directory with a root file system. Images that must be unpacked are
// unpacked once, completely or not at all.
#pragma once

#include <string>

#include "core/cancel_token.hpp"
#include "core/result.hpp"

namespace cloche::oci {

class ImageStore {
 public:
  explicit ImageStore(std::string directory);

  // `image` is the absolute path of a directory with a root file system, which is used in place; of an OCI image layout
  // directory; or of an archive of `docker save` or of an OCI layout, compressed or not. not_found if it does not
  // exist, invalid_argument if it is none of these or does not match its digests.
  Result<std::string> root_of(const std::string& image, const CancelToken& token) const;

 private:
  enum class Packing { layout, archive };

  Result<std::string> unpack_once(const std::string& image, Packing packing, const CancelToken& token) const;
  Result<std::string> unpack(const std::string& image, Packing packing, const std::string& draft,
                             const CancelToken& token) const;
  Result<std::string> known_root(const std::string& source) const;

  std::string directory_;
};

}  // namespace cloche::oci
