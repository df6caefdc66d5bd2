#include "sandbox/spec.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace cloche {

bool is_clean_absolute_path(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.size() > 4095 || path.find('\0') != path.npos) return false;
  if (path == "/") return true;
  for (path.remove_prefix(1);;) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

namespace {

// Places that Cloche itself mounts or that the kernel answers for.
constexpr std::array reserved_targets = {"/", "/proc", "/sys", "/dev", "/.cloche", "/tmp"};

bool is_at_or_below(std::string_view path, std::string_view place) {
  if (place == "/") return path == "/";
  return path == place || (path.starts_with(place) && path.size() > place.size() && path[place.size()] == '/');
}

Status validate_place(std::string_view what, const std::string& path) {
  if (!is_clean_absolute_path(path)) {
    return fail(ErrorCode::invalid_argument,
                std::string(what) + " must be an absolute path without '..', '.', NUL or empty parts: '" + path + "'");
  }
  return {};
}

bool is_name(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_user_name(std::string_view text) {
  const auto is_first = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_other = [&](char c) { return is_first(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 32 && is_first(text.front()) && std::ranges::all_of(text, is_other);
}

Status validate_user(const SandboxSpec& spec) {
  const bool is_taken = spec.user == "root" || spec.user == "nobody";  // lint-words: allow
  if (!is_user_name(spec.user) || is_taken) {
    return fail(
        ErrorCode::invalid_argument,
        "a user name must be a letter or '_', then letters, digits, '_' and '-', all lower-case and at most 32, "
        "and not a name that every system has: '" +
            spec.user + "'");
  }
  if (!spec.root) return {};
  for (const std::string& place : {spec.work_dir, home_of(spec)}) {
    for (const std::string_view own : {root_home, root_run_dir}) {
      if (is_at_or_below(place, own) || is_at_or_below(own, place)) {
        return fail(ErrorCode::invalid_argument,
                    "in a sandbox with root, " + place + " must not be " + std::string(own) + " or below it");
      }
    }
  }
  for (const Mount& mount : spec.mounts) {
    if (is_at_or_below(mount.target, root_home) || is_at_or_below(mount.target, root_run_dir)) {
      return fail(ErrorCode::invalid_argument, "the target of a mount cannot be " + mount.target +
                                                   ": in a sandbox with root, that path is reserved");
    }
  }
  return {};
}

Status validate_gpus(const GpuRequest& gpus) {
  const int ways = (gpus.all ? 1 : 0) + (gpus.count > 0 ? 1 : 0) + (gpus.ids.empty() ? 0 : 1);
  if (ways > 1) return fail(ErrorCode::invalid_argument, "GPUs are requested as all, by number, or by a list of ids");
  if (gpus.count > most_gpus || gpus.ids.size() > most_gpus) {
    return fail(ErrorCode::invalid_argument, "a sandbox can have at most " + std::to_string(most_gpus) + " GPUs");
  }
  for (const std::string& id : gpus.ids) {
    const bool is_id = !id.empty() && id.size() <= 253 && std::ranges::all_of(id, [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':' || c == '/' || c == '=';
    });
    if (!is_id) return fail(ErrorCode::invalid_argument, "'" + id + "' is not the index, UUID or CDI name of a GPU");
  }
  return {};
}

}  // namespace

std::string home_of(const SandboxSpec& spec) {
  const std::string home_on_disk = "/home/" + spec.user;
  const bool apart = !is_at_or_below(spec.work_dir, home_on_disk) && !is_at_or_below(home_on_disk, spec.work_dir);
  return spec.workspace == WorkspaceKind::disk && apart ? home_on_disk : spec.work_dir;
}

Status validate(const SandboxSpec& spec) {
  CLOCHE_CHECK(validate(spec.limits));
  CLOCHE_CHECK(validate_place("work_dir", spec.work_dir));
  for (std::string_view place : reserved_targets) {
    if (place != "/tmp" && is_at_or_below(spec.work_dir, place)) {
      return fail(ErrorCode::invalid_argument, "work_dir cannot be " + spec.work_dir + ": that path is reserved");
    }
  }
  if (spec.work_dir == "/tmp")
    return fail(ErrorCode::invalid_argument, "work_dir cannot be /tmp itself: that path is reserved");
  if (spec.uid == 0U || spec.gid == 0) {
    return fail(ErrorCode::invalid_argument, "programs cannot run as root; uid and gid 0 are reserved for the agent");
  }
  if (spec.uid > 65533U || spec.gid > 65533)
    return fail(ErrorCode::invalid_argument, "uid and gid must be below 65534");
  CLOCHE_CHECK(validate_user(spec));
  if (!spec.name.empty() && !is_name(spec.name, 128)) {
    return fail(ErrorCode::invalid_argument,
                "a sandbox name must be letters, digits, '-', '_' and '.': '" + spec.name + "'");
  }
  if (!is_name(spec.hostname, 63))
    return fail(ErrorCode::invalid_argument, "invalid host name: '" + spec.hostname + "'");
  if (spec.image.find('\0') != std::string::npos) return fail(ErrorCode::invalid_argument, "image contains a NUL byte");
  for (const Mount& mount : spec.mounts) {
    CLOCHE_CHECK(validate_place("the source of a mount", mount.source));
    CLOCHE_CHECK(validate_place("the target of a mount", mount.target));
    for (std::string_view place : reserved_targets) {
      if (is_at_or_below(mount.target, place)) {
        return fail(ErrorCode::invalid_argument,
                    "the target of a mount cannot be " + mount.target + ": that path is reserved");
      }
    }
    if (is_at_or_below(spec.work_dir, mount.target)) {
      return fail(ErrorCode::invalid_argument, "a mount at " + mount.target + " would hide the work directory");
    }
    if (is_at_or_below(home_of(spec), mount.target)) {
      return fail(ErrorCode::invalid_argument, "a mount at " + mount.target + " would hide the home directory");
    }
  }
  CLOCHE_CHECK(validate_gpus(spec.gpus));
  if (spec.ready_timeout <= std::chrono::milliseconds::zero()) {
    return fail(ErrorCode::invalid_argument, "ready_timeout must be greater than zero");
  }
  return {};
}

}  // namespace cloche
