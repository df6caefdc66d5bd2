#include "backend/oci/root/root_plan.hpp"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

// Each is a mount of its own in every sandbox.
constexpr std::size_t most_binds = 300;

Result<std::string> read_link(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  if (n < 0) return fail_errno("read link " + path);
  return std::string(target, static_cast<std::size_t>(n));
}

bool is_empty_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return false;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

// Directories change when something in them is replaced, as package managers do it; so of a tree only they count.
void add_identity(const std::string& path, const struct stat& about, std::string& identity) {
  identity += std::to_string(about.st_ino) + " " + std::to_string(about.st_size) + " " +
              std::to_string(about.st_mtim.tv_sec) + "." + std::to_string(about.st_mtim.tv_nsec) + ";";
  // Two links to a directory are its name and its ".": it has no directory inside.
  if (!S_ISDIR(about.st_mode) || about.st_nlink == 2) return;
  const auto names = list_directory(path);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string inside = path + "/" + name;
    struct stat inner;
    if (::lstat(inside.c_str(), &inner) == 0 && S_ISDIR(inner.st_mode)) add_identity(inside, inner, identity);
  }
}

}  // namespace

Status RootPlanner::make_parents(const std::string& path, Links links) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    const auto [at, is_new] = nodes_.try_emplace(parent);
    if (is_new || at->second.kind == Node::Kind::directory) continue;
    const bool is_shown = at->second.kind == Node::Kind::bound || at->second.kind == Node::Kind::copy;
    if (is_shown && at->second.source_kind == PathKind::directory) {
      CLOCHE_CHECK(break_up(parent));
    } else if (at->second.kind == Node::Kind::link && links == Links::replace) {
      at->second = Node{};
    } else if (at->second.kind == Node::Kind::link) {
      return fail(ErrorCode::invalid_argument, path + " passes through " + parent + ", a symbolic link to '" +
                                                   at->second.content + "' in the image; use the path it points to");
    } else {
      return fail(ErrorCode::invalid_argument, path + " cannot be: " + parent + " is a file in the image");
    }
  }
  return {};
}

Status RootPlanner::break_up(const std::string& path) {
  const Node former = nodes_[path];
  nodes_[path] = Node{};
  CLOCHE_TRY(const auto names, list_directory(former.content));
  for (const std::string& name : names) {
    const std::string child = path + "/" + name;
    const std::string source = former.content + "/" + name;
    CLOCHE_CHECK(former.kind == Node::Kind::copy ? add_copy(child, source) : add_host_path(child, source));
  }
  return {};
}

Status RootPlanner::add_directory(const std::string& path, mode_t mode) {
  CLOCHE_CHECK(make_parents(path, Links::replace));
  nodes_.insert_or_assign(path, Node{.mode = mode});
  return {};
}

Status RootPlanner::add_file(const std::string& path, std::string content, mode_t mode) {
  CLOCHE_CHECK(make_parents(path, Links::replace));
  nodes_.insert_or_assign(path, Node{.kind = Node::Kind::file, .content = std::move(content), .mode = mode});
  return {};
}

Status RootPlanner::add_link(const std::string& path, std::string target) {
  CLOCHE_CHECK(make_parents(path, Links::replace));
  nodes_.insert_or_assign(path, Node{.kind = Node::Kind::link, .content = std::move(target)});
  return {};
}

Status RootPlanner::add_host_path(const std::string& path, const std::string& source) {
  struct stat about;
  if (::lstat(source.c_str(), &about) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("stat " + source);
  }
  if (S_ISLNK(about.st_mode)) {
    CLOCHE_TRY(std::string target, read_link(source));
    return add_link(path, std::move(target));
  }
  if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) return {};
  // Nothing is seen in an empty directory, wherever it is.
  if (S_ISDIR(about.st_mode) && is_empty_directory(source)) return add_directory(path);
  CLOCHE_CHECK(make_parents(path, Links::replace));
  const PathKind kind = S_ISDIR(about.st_mode) ? PathKind::directory : PathKind::file;
  nodes_.insert_or_assign(path, Node{.kind = Node::Kind::bound, .content = source, .source_kind = kind});
  return {};
}

Status RootPlanner::add_copy(const std::string& path, const std::string& source) {
  struct stat about;
  if (::lstat(source.c_str(), &about) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("stat " + source);
  }
  if (S_ISLNK(about.st_mode)) {
    CLOCHE_TRY(std::string target, read_link(source));
    return add_link(path, std::move(target));
  }
  if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) return {};
  CLOCHE_CHECK(make_parents(path, Links::replace));
  Node node{.kind = Node::Kind::copy, .content = source};
  node.source_kind = S_ISDIR(about.st_mode) ? PathKind::directory : PathKind::file;
  add_identity(source, about, node.identity);
  nodes_.insert_or_assign(path, std::move(node));
  return {};
}

Status RootPlanner::add_hard_link(const std::string& path, const std::string& source) {
  CLOCHE_CHECK(make_parents(path, Links::replace));
  nodes_.insert_or_assign(path, Node{.kind = Node::Kind::hard_link, .content = source, .source_kind = PathKind::file});
  return {};
}

Status RootPlanner::add_mount_point(const std::string& path, PathKind kind, mode_t mode, Links links) {
  CLOCHE_CHECK(make_parents(path, links));
  const auto found = nodes_.find(path);
  if (found != nodes_.end()) {
    const Node& there = found->second;
    if (there.kind == Node::Kind::link && links == Links::refuse) {
      return fail(ErrorCode::invalid_argument,
                  path + " is a symbolic link to '" + there.content + "' in the image; use the path it points to");
    }
    const bool is_file =
        there.kind == Node::Kind::file || (there.kind != Node::Kind::directory && there.source_kind == PathKind::file);
    const bool is_directory = there.kind != Node::Kind::link && !is_file;
    if (links == Links::refuse &&
        ((kind == PathKind::directory && is_file) || (kind == PathKind::file && is_directory))) {
      return fail(ErrorCode::invalid_argument, path + " is a " + (is_file ? "file" : "directory") +
                                                   " in the image, and a " + (is_file ? "directory" : "file") +
                                                   " would be mounted there");
    }
  }
  // All below would be covered; it must not be mounted into what covers it.
  std::erase_if(nodes_, [&](const auto& node) { return node.first.starts_with(path + "/"); });
  nodes_.insert_or_assign(
      path, Node{.kind = kind == PathKind::directory ? Node::Kind::directory : Node::Kind::file, .mode = mode});
  return {};
}

bool RootPlanner::has(const std::string& path) const { return nodes_.contains(path); }

Result<RootPlan> RootPlanner::plan() const {
  RootPlan plan;
  for (const auto& [path, node] : nodes_) {
    switch (node.kind) {
      case Node::Kind::directory: plan.entries.push_back({RootEntry::Kind::directory, path, {}, node.mode}); break;
      case Node::Kind::file: plan.entries.push_back({RootEntry::Kind::file, path, node.content, node.mode}); break;
      case Node::Kind::link: plan.entries.push_back({RootEntry::Kind::link, path, node.content, 0777}); break;
      case Node::Kind::copy:
        plan.entries.push_back({RootEntry::Kind::copy, path, node.content, 0755, node.identity});
        break;
      case Node::Kind::hard_link: plan.entries.push_back({RootEntry::Kind::hard_link, path, node.content}); break;
      case Node::Kind::bound: {
        const bool is_directory = node.source_kind == PathKind::directory;
        plan.entries.push_back({is_directory ? RootEntry::Kind::directory : RootEntry::Kind::file,
                                path,
                                {},
                                is_directory ? 0755u : 0644u});
        plan.binds.push_back({node.content, path, node.source_kind});
        break;
      }
    }
  }
  if (plan.binds.size() > most_binds) {
    return fail(ErrorCode::invalid_argument,
                "the sandbox's root would need " + std::to_string(plan.binds.size()) +
                    " mounts: its work directory or a mount lies in a directory of the image with too many entries; "
                    "choose a directory of its own, such as /workspace");
  }
  return plan;
}

Result<RootPlanner> plan_image_root(const std::string& image_root) {
  RootPlanner planner;
  CLOCHE_TRY(const auto names, list_directory(image_root));
  for (const std::string& name : names) CLOCHE_CHECK(planner.add_host_path("/" + name, image_root + "/" + name));
  return planner;
}

}  // namespace cloche::oci
