#include "backend/oci/root/other_names.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "core/unique_fd.hpp"

namespace cloche::oci {

namespace {

// The search path for programs of a sandbox, in this order; see ExecSpec.
constexpr std::array program_places = {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/",
                                       "/usr/bin/",        "/sbin/",          "/bin/"};
constexpr const char* own_place = "/.cloche/bin/";

struct OtherName {
  const char* name;
  const char* program;
};
constexpr OtherName other_names[] = {{"python", "python3"}};

// Links on the way, absolute ones too, are those of the image and lead to places in it.
bool is_in(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd found(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  return static_cast<bool>(found);
}

// Empty: nowhere.
std::string place_of(int root, const std::string& program) {
  for (const char* place : program_places) {
    if (is_in(root, place + program)) return place + program;
  }
  return {};
}

}  // namespace

Status add_other_names(RootPlanner& root, const std::string& image_root) {
  const UniqueFd directory(::open(image_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("open " + image_root);
  CLOCHE_CHECK(root.add_directory("/.cloche/bin"));
  for (const auto& [name, program] : other_names) {
    const std::string there = place_of(directory.get(), program);
    if (there.empty() || !place_of(directory.get(), name).empty()) continue;
    CLOCHE_CHECK(root.add_link(own_place + std::string(name), there));
  }
  return {};
}

}  // namespace cloche::oci
