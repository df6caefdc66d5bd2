// Recipe: one image of Cloche's own, and the two ways to make it: from its Dockerfile, or offline from Debian's
// packages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "images/package_list.hpp"

namespace cloche::images {

enum class Method {
  dockerfile,  // by a Docker engine; its base comes from a registry
  offline,     // from the Debian mirror of this host, without a registry
};
std::string_view to_string(Method method);

// A file of images/, as it is in the program.
struct ImageFile {
  std::string path;
  std::string text;
};

struct Recipe {
  std::string name;                 // of the profile that runs in it
  std::vector<std::string> others;  // names of languages it serves too
  std::string repository;           // on docker; the tag is `latest`
  std::string dockerfile;           // its path below images/
  std::string base;                 // what the Dockerfile begins from
  std::vector<ImageFile> files;     // the Dockerfile's context, itself included
  bool has_packages = false;        // false: there is no offline method
  PackageList packages;             // of the offline way, those of every image included

  std::string tag() const { return repository + ":latest"; }
};

// In the order in which they are best built: small ones first.
const std::vector<Recipe>& all_recipes();

// By name or alias; not_found lists the known images.
Result<Recipe> find_recipe(std::string_view name);

// A hash of what an image is built from and how: it changes when any of that changes. Package versions are not part of
// it, so that an update of the mirror does not rebuild everything.
std::string inputs_of(const Recipe& recipe, Method method, std::string_view architecture);

// The architecture of this program: `amd64`, `arm64`, …
std::string_view host_architecture();

}  // namespace cloche::images
