// RootPlan: what a sandbox's root directory is put together from.
//
// The root is never an image itself but a skeleton of Cloche's own: real directories, links and small files, into which
// the parts of an image are mounted read-only. So every mount point exists, whatever the image lacks, and nothing is
// ever written into an image.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::oci {

enum class PathKind { directory, file };

// A real thing of the skeleton.
struct RootEntry {
  enum class Kind {
    directory,
    file,
    link,
    copy,       // of a file or of a whole tree of the host, as far as all users may read it
    hard_link,  // to a file of Cloche's own
  };
  Kind kind = Kind::directory;
  std::string path;     // in the sandbox
  std::string content;  // of a file; target of a link; source of a copy or hard link
  mode_t mode = 0755;
  std::string identity;  // of a copy's source: another when the source has changed
};

// A part of an image, or of the host, that is seen at a directory or an empty file of the skeleton.
struct RootBind {
  std::string source;
  std::string target;
  PathKind kind = PathKind::directory;
};

struct RootPlan {
  std::vector<RootEntry> entries;  // parents before children
  std::vector<RootBind> binds;
};

// Collects the parts. Later calls refine earlier ones: a mount point inside a bound directory turns that directory into
// a real one whose other children are bound one by one.
class RootPlanner {
 public:
  Status add_directory(const std::string& path, mode_t mode = 0755);
  Status add_file(const std::string& path, std::string content, mode_t mode = 0644);
  Status add_link(const std::string& path, std::string target);
  // Shows `source` of the host; a symbolic link is copied, and anything that is not a file or directory or does not
  // exist is skipped.
  Status add_host_path(const std::string& path, const std::string& source);
  // The same, but as a copy in the skeleton: for what is small, since every mount costs each sandbox time, and with
  // runsc half a dozen threads.
  Status add_copy(const std::string& path, const std::string& source);
  Status add_hard_link(const std::string& path, const std::string& source);

  // A place where something will be mounted. What stood there is covered. A link on the way belongs to the image:
  // `replace` puts a real directory in its stead, `refuse` is an error that names it.
  enum class Links { replace, refuse };
  Status add_mount_point(const std::string& path, PathKind kind, mode_t mode, Links links);

  bool has(const std::string& path) const;
  Result<RootPlan> plan() const;

 private:
  struct Node {
    enum class Kind { directory, file, link, bound, copy, hard_link };
    Kind kind = Kind::directory;
    std::string content;  // of a file; target of a link; source of all others
    mode_t mode = 0755;
    PathKind source_kind = PathKind::directory;
    std::string identity;
  };

  Status make_parents(const std::string& path, Links links);
  Status break_up(const std::string& path);

  std::map<std::string, Node> nodes_;  // sorted, so that a parent stands before its children
};

// Puts the parts of an image's root directory together with the places that Cloche needs; no mount point yet.
Result<RootPlanner> plan_image_root(const std::string& image_root);

}  // namespace cloche::oci
