// What an unpacked image contains: which layers, in which order, with which digests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

struct ImageLayer {
  std::string path;     // below the image's directory
  std::string digest;   // SHA-256 of the file as it is; empty where the format gives none
  std::string diff_id;  // SHA-256 of it unpacked
};

struct ImageDescription {
  std::string key;  // SHA-256 of the image's configuration, which names all layers: the same key is the same image
  std::vector<ImageLayer> layers;  // lowest first
};

// Opens a file inside an image's directory; a link that leads out of it is not followed.
Result<UniqueFd> open_in_image(int directory, const std::string& path);

// An OCI image layout (`oci-layout`, `index.json`, `blobs/`): the image for this machine. Every blob read is checked
// against its digest.
Result<ImageDescription> describe_oci_layout(int directory);
// The format of `docker save` (`manifest.json`). invalid_argument if it contains several images.
Result<ImageDescription> describe_docker_archive(int directory);

}  // namespace cloche::oci
