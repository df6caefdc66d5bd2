#include "images/root_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <set>

#include "backend/oci/files.hpp"
#include "core/ids.hpp"
#include "core/lock_file.hpp"
#include "core/log.hpp"
#include "json/lenient_json.hpp"

namespace cloche::images {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view link_start = "roots/";
constexpr std::string_view link_end = "/rootfs";
constexpr std::string_view draft_start = ".build-";

// The name below roots/ that a link of ours points to; empty for anything else.
std::string generation_at(const std::string& link) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error);
  if (error || !target.starts_with(link_start) || !target.ends_with(link_end)) return {};
  return target.substr(link_start.size(), target.size() - link_start.size() - link_end.size());
}

std::uint64_t bytes_below(const std::string& root) {
  std::uint64_t blocks = 0;
  std::set<ino_t> seen;  // a file with several names counts once
  std::error_code error;
  fs::recursive_directory_iterator walk(root, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    struct stat about;
    if (::lstat(walk->path().c_str(), &about) != 0) continue;
    if (about.st_nlink > 1 && !S_ISDIR(about.st_mode) && !seen.insert(about.st_ino).second) continue;
    blocks += static_cast<std::uint64_t>(about.st_blocks);
  }
  return blocks * 512;
}

// Whether a process has a mount from this generation. A process that cannot be inspected counts as yes.
bool is_in_use(const std::string& generation) {
  const std::string mark = "/roots/" + generation + "/";
  const auto processes = oci::list_directory("/proc");
  if (!processes) return true;
  for (const std::string& pid : *processes) {
    if (pid.find_first_not_of("0123456789") != pid.npos) continue;
    const auto mounts = oci::read_file("/proc/" + pid + "/mountinfo", mib(64));
    if (mounts && mounts->find(mark) != mounts->npos) return true;
    // ENOENT, ESRCH, EINVAL: it has ended meanwhile.
    if (!mounts && mounts.error().code == ErrorCode::permission_denied) return true;
  }
  return false;
}

}  // namespace

Draft::~Draft() {
  if (path_.empty()) return;
  if (auto removed = oci::remove_tree(path_); !removed) log::warn("images: {}", removed.error().message);
}

RootStore::RootStore(const std::string& state_dir) : directory_(state_dir + "/images") {}

std::optional<BuiltRoot> RootStore::find(const std::string& name) const {
  const std::string generation = generation_at(path_of(name));
  if (generation.empty()) return std::nullopt;
  const auto text = oci::read_file(directory_ + "/roots/" + generation + "/image.json", kib(64));
  if (!text || !oci::path_exists(directory_ + "/roots/" + generation + "/rootfs")) return std::nullopt;
  const auto about = json::parse(*text);
  if (!about) return std::nullopt;
  BuiltRoot built;
  built.path = path_of(name);
  built.inputs = json::text(json::find(*about, "inputs"));
  built.bytes = static_cast<std::uint64_t>(json::number(json::find(*about, "bytes")));
  built.built = std::chrono::sys_seconds(std::chrono::seconds(json::number(json::find(*about, "built"))));
  return built;
}

Result<Draft> RootStore::draft(const CancelToken& token) const {
  auto made = oci::make_directories(directory_ + "/roots", 0711);
  if (!made) return fail(std::move(made).error().at("run as root or choose another state directory"));
  CLOCHE_TRY(UniqueFd locked, lock_file(directory_ + "/.build.lock", "wait for another `cloche images build`", token));
  CLOCHE_TRY(const std::vector<std::string> names, oci::list_directory(directory_));
  for (const std::string& name : names) {
    if (name.starts_with(draft_start)) CLOCHE_CHECK(oci::remove_tree(directory_ + "/" + name));
  }
  const std::string path = directory_ + "/" + std::string(draft_start) + random_hex(8);
  Draft draft(path, std::move(locked));
  CLOCHE_CHECK(oci::make_directory(path, 0711));
  return draft;
}

Result<BuiltRoot> RootStore::install(Draft draft, const std::string& name, const std::string& inputs) const {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const json::object about{{"name", name},
                           {"inputs", inputs},
                           {"bytes", bytes_below(draft.root())},
                           {"built", now.time_since_epoch().count()}};
  const std::string generation = name + "-" + random_hex(8);
  const std::string place = directory_ + "/roots/" + generation;
  CLOCHE_CHECK(oci::make_directory(draft.path() + "/whole", 0711));
  const std::string whole = draft.path() + "/whole";
  CLOCHE_CHECK(oci::write_file(whole + "/image.json", boost::json::serialize(about) + "\n", 0644));
  if (::rename(draft.root().c_str(), (whole + "/rootfs").c_str()) != 0) return fail_errno("rename " + draft.root());
  if (::rename(whole.c_str(), place.c_str()) != 0) return fail_errno("rename to " + place);
  const std::string link = draft.path() + "/link";
  const std::string target = std::string(link_start) + generation + std::string(link_end);
  if (::symlink(target.c_str(), link.c_str()) != 0) return fail_errno("create the link " + link);
  if (::rename(link.c_str(), path_of(name).c_str()) != 0) {
    auto failure = fail_errno("put the image at " + path_of(name) + " (does another file exist there?)");
    (void)oci::remove_tree(place);
    return failure;
  }
  remove_unused();
  const auto built = find(name);
  if (!built) return fail(ErrorCode::internal, "the image " + path_of(name) + " cannot be read back");
  return *built;
}

void RootStore::remove_unused() const {
  const auto names = oci::list_directory(directory_);
  const auto generations = oci::list_directory(directory_ + "/roots");
  if (!names || !generations) return;
  std::set<std::string> newest;
  for (const std::string& name : *names) newest.insert(generation_at(path_of(name)));
  for (const std::string& generation : *generations) {
    if (newest.contains(generation)) continue;
    if (is_in_use(generation)) {
      log::info("images: {} is kept until no sandbox uses it and another image is built", generation);
      continue;
    }
    if (auto removed = oci::remove_tree(directory_ + "/roots/" + generation); !removed)
      log::warn("images: {}", removed.error().message);
  }
}

}  // namespace cloche::images
