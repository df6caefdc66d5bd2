#include "images/debian_root.hpp"

#include <unistd.h>

#include "backend/oci/files.hpp"
#include "images/mirror.hpp"
#include "images/tidy_root.hpp"
#include "images/tool.hpp"

namespace cloche::images {

namespace {

// Makes the links of a merged /usr before the first package. Else Debian's package usrmerge would make them, which
// brings all of Perl.
constexpr const char* merged_usr_hooks = "/usr/share/mmdebstrap/hooks/merged-usr";

// Files that dpkg need not unpack. Only these: packages rely on other files while they are configured, as Java does on
// the directories of manuals.
bool can_be_left_packed(std::string_view dropped) {
  return dropped == "/usr/share/doc/*" || dropped == "/usr/share/locale/*";
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

std::vector<std::string> arguments_for(const Recipe& recipe, const Mirror& mirror, const std::string& root) {
  std::vector<std::string> argv = {"mmdebstrap", "--mode=root", "--format=directory", "--variant=essential"};
  argv.push_back("--include=" + joined(recipe.packages.packages));
  argv.push_back(std::string("--hook-dir=") + merged_usr_hooks);
  // A partial result is discarded, so nothing has to be synced to disk in between.
  argv.emplace_back("--dpkgopt=force-unsafe-io");
  for (const std::string& path : recipe.packages.dropped) {
    if (can_be_left_packed(path)) argv.push_back("--dpkgopt=path-exclude=" + path);
  }
  for (const std::string& line : mirror.aptconfig) argv.push_back("--aptopt=" + line);
  argv.emplace_back("--aptopt=Acquire::Retries \"3\"");
  argv.emplace_back("bookworm");
  argv.push_back(root);
  if (!mirror.sources.empty()) argv.emplace_back("-");
  return argv;
}

// The first complaints among what mmdebstrap, apt and dpkg said; later ones follow from them.
class Complaints {
 public:
  void look_at(std::string_view line) {
    const bool complains = line.starts_with("E: ") || line.starts_with("Err:") || line.starts_with("dpkg: error") ||
                           line.find(": error: ") != line.npos;
    if (!complains || said_.size() >= most) return;
    said_.push_back(std::string(line.substr(0, longest)) + (line.size() > longest ? "…" : ""));
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : said_) all += (all.empty() ? "" : "; ") + line;
    return all.empty() ? "no error message" : all;
  }

 private:
  static constexpr std::size_t most = 3;
  static constexpr std::size_t longest = 240;
  std::vector<std::string> said_;
};

}  // namespace

Status check_offline_tools() {
  if (!find_tool("mmdebstrap"))
    return fail(ErrorCode::unsupported, "mmdebstrap is not installed: apt-get install mmdebstrap");
  if (::access(debian_keyring, R_OK) != 0) {
    return fail(ErrorCode::unsupported, std::string("missing ") + debian_keyring +
                                            ", which is required to verify packages: apt-get install "
                                            "debian-archive-keyring");
  }
  if (::geteuid() != 0)
    return fail(ErrorCode::permission_denied,
                "building a root filesystem from packages requires root: run it with sudo");
  return {};
}

Status make_debian_root(const Recipe& recipe, const std::string& draft, const Progress& progress,
                        const CancelToken& token) {
  CLOCHE_CHECK(check_offline_tools());
  CLOCHE_TRY(const Mirror mirror, find_mirror(token));
  const std::string root = draft + "/rootfs";
  CLOCHE_CHECK(oci::make_directory(draft + "/tmp", 01777));

  ToolSpec spec;
  spec.argv = arguments_for(recipe, mirror, root);
  spec.environment = plain_environment();
  spec.environment.push_back("TMPDIR=" + draft + "/tmp");
  spec.input = mirror.sources;
  spec.directory = draft;
  spec.isolation = ToolSpec::Isolation::own_processes_and_mounts;
  Complaints complaints;
  const auto line = [&](std::string_view text) {
    complaints.look_at(text);
    if (text.starts_with("I: ")) progress(text.substr(3));
  };
  CLOCHE_TRY(const int code, run_lines(spec, line, token));
  if (code != 0) {
    return fail(ErrorCode::unavailable, "mmdebstrap: " + complaints.text() +
                                            " (does `apt-get update` work? Packages come from the mirror "
                                            "of this host's own apt)");
  }
  progress("removing files that sandboxes do not need");
  return tidy_root(root, recipe.packages.dropped);
}

}  // namespace cloche::images
