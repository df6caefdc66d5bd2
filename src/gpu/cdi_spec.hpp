// CdiSpec: a specification of the Container Device Interface, versions 0.3 to 0.8, as it is written. No I/O.
//
// A file that is not exactly such a specification is rejected as a whole: what is not understood may be what keeps
// devices apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::gpu {

struct CdiNode {
  std::string path;       // in the sandbox
  std::string host_path;  // the same if it is not given
  std::optional<std::uint32_t> major;
  std::optional<std::uint32_t> minor;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
};

struct CdiVariable {
  std::string name;
  std::string value;
};

struct CdiEdits {
  std::vector<CdiNode> nodes;
  std::vector<CdiMount> mounts;
  std::vector<CdiVariable> env;
  std::vector<std::string> hooks;  // the programs and their arguments, in words
  bool sets_other_things = false;  // additional groups, cache allocation
};

struct CdiDevice {
  std::string name;
  CdiEdits edits;
};

struct CdiSpec {
  std::string version;
  std::string kind;  // vendor/class
  CdiEdits edits;    // for every device
  std::vector<CdiDevice> devices;

  std::string_view device_class() const;
};

enum class CdiForm { json, yaml };

// `file` is for errors, which are invalid_argument.
Result<CdiSpec> parse_cdi(std::string_view text, const std::string& file, CdiForm form);

}  // namespace cloche::gpu
