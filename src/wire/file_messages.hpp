// Messages about file operations between server and agent. One request per stream, one FileReply (or several, for
// lists), then `close`. Content is sent on the lanes: lane in to the file, lane out from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/codec.hpp"
#include "wire/requests.hpp"

namespace cloche::wire {

enum class FileOp : std::uint32_t {
  write = 0,  // lane in: the content, until eof; appears whole or not at all unless `append`
  read,       // lane out: bytes [offset, offset + length)
  stat,
  list,     // one directory, or with `recursive` the tree
  remove,   // a file, or with `recursive` a tree; `missing_ok`
  mkdir,    // with `parents`, existing is fine
  move,     // path to `to`: atomic on one file system, copied and removed across two
  tar_in,   // lane in: a tar stream, unpacked below path, all names checked
  tar_out,  // lane out: a tar stream of path (a file or a tree)
  glob,     // pattern below path: *, ?, [..], **, {a,b}
  grep,     // RE2 pattern in the files below path, filtered by `glob`
  mark,     // a moment after all changes so far of the tree below path, by the clock that files are stamped with
  changes,  // regular files of the tree below path that were made or changed after `since_ns`
  edit,     // every `pattern` of a file becomes `replacement`, byte for byte, all of them or none
  watch,  // a reply when the watch is armed, then lane out: WatchEvents of a directory, or with `recursive` of the tree
  space,  // of the file system of path: bytes used, and total_size
  last_ = space,
};

struct FileRequest {
  static constexpr auto kind = RequestKind::file;
  static constexpr const char* name = "file";
  FileOp op = FileOp::stat;
  std::string path;  // absolute, or relative to root
  std::string root;  // when given: path (and to) must stay beneath it, symlinks and all
  std::string to;
  std::uint32_t uid = 0;  // the operation is done under this user's rights
  std::uint32_t gid = 0;
  std::uint32_t mode = 0;  // of a file or directory; 0: 0644 and 0755, and a file that is replaced keeps its own
  bool parents = false;
  bool append = false;
  bool recursive = false;
  bool missing_ok = false;
  bool follow = true;  // stat: of what a final symlink leads to
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: to the end
  std::string pattern;       // glob, grep
  std::string glob;          // grep: only files whose path below `path` or whose name matches
  bool ignore_case = false;
  bool hidden = false;  // glob: names that start with a dot match wildcards too
  std::uint32_t context_lines = 0;
  std::uint64_t max_results = 0;  // list, glob, grep, changes; 0: the agent's own cap
  std::uint64_t max_bytes = 0;    // tar_in: of all content; write: of the content; 0: no cap but the disk's
  std::uint64_t max_entries = 0;  // tar_in; changes: names to scan; watch: directories; 0: the agent's own limit
  std::int64_t since_ns = 0;      // changes: a mark's moment
  std::string discard;            // changes: an absolute path that is removed first, with all below it
  bool keep_existing = false;     // move: already_exists where `to` is taken
  // move: the root of `to` where it is not `root`; empty: `to` is absolute
  std::optional<std::string> to_root;
  bool no_kernel_files = false;      // whatever lies in procfs, sysfs and the like is refused, and not walked into
  std::vector<std::string> exclude;  // glob, grep, changes: names or paths below `path` that are passed over
  std::vector<std::string> include;  // changes: only files whose name or path matches one of these; empty: all
  bool ignore_usual = false;         // changes: hidden names, caches and installed packages are passed over
  bool skip_hidden = false;          // grep: names that start with a dot are passed over
  std::string replacement;           // edit
  std::uint64_t expected = 0;        // edit: how often `pattern` must occur; 0: once or more often
  bool keep_modes = false;           // tar_in: a file of mode 0 gets the mode of the one it replaces, else 0644
  bool force = false;                // write, tar_in: replaces files that the user may not write to
  bool details = false;              // stat, list, glob: the members of FileEntry from `attributes` on, too
  TextMap attributes;                // write: extended attributes that the file has when it appears
  std::uint32_t depth = 0;           // list with `recursive`: so many levels; 0: all
  bool in_place = false;             // write: a new file appears empty, gets its mode and then its content
};
template <class Fields>
void fields(Fields& f, FileRequest& m) {
  f(1, m.op);
  f(2, m.path);
  f(3, m.root);
  f(4, m.to);
  f(5, m.uid);
  f(6, m.gid);
  f(7, m.mode);
  f(8, m.parents);
  f(9, m.append);
  f(10, m.recursive);
  f(11, m.missing_ok);
  f(12, m.follow);
  f(13, m.offset);
  f(14, m.length);
  f(15, m.pattern);
  f(16, m.glob);
  f(17, m.ignore_case);
  f(18, m.hidden);
  f(19, m.context_lines);
  f(20, m.max_results);
  f(21, m.max_bytes);
  f(22, m.max_entries);
  f(23, m.since_ns);
  f(24, m.discard);
  f(25, m.keep_existing);
  f(26, m.to_root);
  f(27, m.no_kernel_files);
  f(28, m.exclude);
  f(29, m.include);
  f(30, m.ignore_usual);
  f(31, m.skip_hidden);
  f(32, m.replacement);
  f(33, m.expected);
  f(34, m.keep_modes);
  f(35, m.force);
  f(36, m.details);
  f(37, m.attributes);
  f(38, m.depth);
  f(39, m.in_place);
}

enum class FileType : std::uint32_t { other = 0, regular, directory, symlink, fifo, socket, device, last_ = device };

struct FileEntry {
  std::string path;  // stat: as asked; list, glob: below the asked path
  FileType type = FileType::other;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime_ns = 0;
  std::string link_target;    // of a symlink
  std::int64_t ctime_ns = 0;  // of the last change of content, mode, owner, name or links
  // Only with `details`.
  TextMap attributes;                      // the extended attributes user.*
  std::string resolved;                    // the absolute path that a symlink leads to; empty if it leads nowhere
  FileType target_type = FileType::other;  // of what a symlink leads to
  std::uint32_t target_mode = 0;           // its permission bits
};
template <class Fields>
void fields(Fields& f, FileEntry& m) {
  f(1, m.path);
  f(2, m.type);
  f(3, m.size);
  f(4, m.mode);
  f(5, m.uid);
  f(6, m.gid);
  f(7, m.mtime_ns);
  f(8, m.link_target);
  f(9, m.ctime_ns);
  f(10, m.attributes);
  f(11, m.resolved);
  f(12, m.target_type);
  f(13, m.target_mode);
}

// The extended attributes of one file, in a request and in a reply.
constexpr std::size_t most_attributes = 32;
constexpr std::size_t most_attribute_bytes = 4096;  // of all names and values

// What happened to a name below a watched directory. On lane out each one comes after its length, a varint.
struct WatchEvent {
  enum class Kind : std::uint32_t {
    created = 0,  // also a name that something was renamed to
    written,      // the content was changed
    removed,
    renamed,       // the name that something had before; `created` has the new one, if it is in the tree
    mode_changed,  // mode, owner, times or attributes
    overflow,      // events were lost, or parts of the tree are not watched; path is empty, or the first such part
    last_ = overflow,
  };
  Kind kind = Kind::created;
  std::string path;  // below the watched directory
};
template <class Fields>
void fields(Fields& f, WatchEvent& m) {
  f(1, m.kind);
  f(2, m.path);
}
// An encoded WatchEvent is not longer than this.
constexpr std::size_t longest_watch_event = std::size_t{65} * 1024;

struct GrepMatch {
  std::string path;  // below the asked path
  std::uint64_t line = 0;
  std::string text;  // the line, cut at a cap, as the bytes are
  bool is_context = false;
  bool text_cut = false;
};
template <class Fields>
void fields(Fields& f, GrepMatch& m) {
  f(1, m.path);
  f(2, m.line);
  f(3, m.text);
  f(4, m.is_context);
  f(5, m.text_cut);
}

// The result of an edit. The file is changed only with `done`.
enum class EditOutcome : std::uint32_t {
  none = 0,  // the reply is to another request
  done,
  no_match,
  other_count,   // the text occurs, but not as often as expected
  file_changed,  // by another process, while it was being edited
  last_ = file_changed,
};

// Long lists come in several replies; the last of them has `done`.
struct FileReply {
  static constexpr auto kind = MessageKind::file_reply;
  static constexpr const char* name = "file_reply";
  bool done = false;
  std::vector<FileEntry> entries;
  std::vector<GrepMatch> matches;
  bool cut = false;                     // there was more than the cap let through
  std::uint64_t bytes = 0;              // written, read, in all content unpacked, or used of a file system
  std::uint64_t files = 0;              // removed, made, listed, unpacked, packed, searched; edit: occurrences
  std::uint64_t skipped = 0;            // list, glob, grep: unreadable; grep: binary; tar_out: sockets and the like
  std::uint64_t total_size = 0;         // read: of the whole file; a first reply brings it before the content; space
  std::int64_t moment_ns = 0;           // mark; changes: when the newest file was changed, if all were scanned
  std::optional<std::uint64_t> binary;  // grep: of those skipped
  std::uint64_t ignored = 0;            // changes: changed files and directories that the rules passed over
  EditOutcome edit = EditOutcome::none;
  bool other_line_ends = false;  // edit, no_match: with the file's CR LF line ends there would be a match
};
template <class Fields>
void fields(Fields& f, FileReply& m) {
  f(1, m.done);
  f(2, m.entries);
  f(3, m.matches);
  f(4, m.cut);
  f(5, m.bytes);
  f(6, m.files);
  f(7, m.skipped);
  f(8, m.total_size);
  f(9, m.moment_ns);
  f(10, m.binary);
  f(11, m.ignored);
  f(12, m.edit);
  f(13, m.other_line_ends);
}

}  // namespace cloche::wire
