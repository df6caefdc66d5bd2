// LayerWriter: puts the layers of an image on top of each other into one directory.
//
// A layer is hostile until proved otherwise: names are cleaned, every directory is found by the kernel inside the root
// and nowhere else (openat2), links are made but never followed out, and devices, owners and set-uid bits stay behind.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "backend/oci/image/layer_reader.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

struct LayerBudget {
  std::uint64_t entries = 1'000'000;
  Bytes bytes = {std::uint64_t{64} << 30};  // of files, their holes included
};

class LayerWriter {
 public:
  // `root` is an existing directory.
  static Result<LayerWriter> open(const std::string& root, LayerBudget budget = {});

  // Applies all entries of a layer, its whiteouts included.
  Status apply(LayerReader& layer);

 private:
  LayerWriter(UniqueFd root, LayerBudget budget);

  Status put(LayerReader& layer, const LayerEntry& entry);
  Status put_file(LayerReader& layer, const LayerEntry& entry, int parent, const std::string& base,
                  const std::string& path);
  Status put_hard_link(const LayerEntry& entry, int parent, const std::string& base, const std::string& path);
  Status clear_lower(int directory, const std::string& path);
  // The directory of this cleaned name; with `make`, it and those above are made where they are missing.
  enum class Missing { fail, make };
  Result<UniqueFd> open_directory(const std::string& path, Missing missing) const;
  void remember(const std::string& path);

  UniqueFd root_;
  LayerBudget left_;
  std::set<std::string> of_this_layer_;  // names, those above included
};

}  // namespace cloche::oci
