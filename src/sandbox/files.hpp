// Files: what can be done with files of a living sandbox. All of it is done by the agent under the rights of one user
// of the sandbox.
//
// Paths are absolute, or relative to a root beneath which they must stay, symlinks and all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "core/bytes.hpp"
#include "sandbox/agent_link.hpp"
#include "sandbox/change_rules.hpp"
#include "sandbox/file_watch.hpp"
#include "wire/file_messages.hpp"

namespace cloche {

using wire::FileEntry;
using wire::FileType;
using wire::GrepMatch;

struct FilePath {
  std::string path;
  std::string root;                   // empty: path is absolute
  bool refuses_kernel_files = false;  // those of procfs, sysfs and the like, however the path leads there

  FilePath(std::string absolute) : path(std::move(absolute)) {}  // NOLINT: a plain path is the common case
  FilePath(const char* absolute) : path(absolute) {}             // NOLINT
  static FilePath beneath(std::string root, std::string relative);
  // An absolute path that a caller of the service chose.
  static FilePath anywhere(std::string absolute);
};

struct WriteOptions {
  std::uint32_t mode = 0644;
  enum class Parents { must_exist, make } parents = Parents::make;
  enum class Existing { replace, append } existing = Existing::replace;
  // A new file appears with all of its content; or as a program writes it, which watchers see: empty, then its mode is
  // set, then it grows. It is removed again if the content does not arrive. An existing file is replaced whole in any
  // case. An old agent does not know the second way and uses the first.
  enum class Appearance { whole, growing } appearance = Appearance::whole;
  Bytes most;  // 0: no cap but the sandbox's own
  // A file that the user cannot write to is refused, as for a program of the user; or replaced anyway.
  enum class ReadOnly { refuse, replace } read_only = ReadOnly::refuse;
  // Extended attributes by their full names (user.*), set before the file appears: at most 32, and 4 KiB in all.
  // `unsupported` where the file system has none.
  std::map<std::string, std::string> attributes;
};

struct DiskSpace {
  Bytes used;
  Bytes total;
};

struct DirectoryOptions {
  std::uint32_t mode = 0755;
  enum class Parents { must_exist, make } parents = Parents::make;  // created; existing ones are fine
};

struct MoveOptions {
  enum class Existing { replace, keep } existing = Existing::replace;
  enum class Parents { must_exist, make } parents = Parents::must_exist;
};

struct EditRequest {
  std::string old;
  std::string replacement;
  std::uint64_t expected = 1;  // how often `old` must occur; 0: once or more often
};
using wire::EditOutcome;
struct EditResult {
  EditOutcome outcome = EditOutcome::none;
  std::uint64_t matches = 0;
  std::uint64_t size = 0;        // of the file as it is now
  bool other_line_ends = false;  // no match, but there would be one with CR LF in the place of LF
};

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: to the end
};

struct ReadResult {
  std::string bytes;
  std::uint64_t total_size = 0;
  bool cut = false;  // there was more than `most`
};

struct EntryList {
  std::vector<FileEntry> entries;
  bool cut = false;
  std::uint64_t ignored = 0;  // of changes: what the rules passed over; a directory counts once
};

struct GlobOptions {
  enum class Hidden { skip, match } hidden = Hidden::skip;
  std::uint64_t most = 10'000;
  std::vector<std::string> exclude;  // names, or paths below the asked one, that are passed over with all below them
  bool with_attributes = false;      // as of StatOptions
};

struct GrepOptions {
  std::string glob;
  enum class Case { exact, ignore } letter_case = Case::exact;
  std::uint32_t context_lines = 0;
  std::uint64_t most = 1'000;
  std::vector<std::string> exclude;  // as of a glob
  enum class Hidden { skip, search } hidden = Hidden::search;
};

struct ChangeCaps {
  std::uint64_t told = 10'000;
  std::uint64_t looked_at = 50'000;  // names in the tree, changed or not
  ChangeRules rules;
};
// An agent's report of changes, after validation.
Result<EntryList> parse_changes(wire::FileReply reply, const ChangeCaps& caps);

struct GrepResult {
  std::vector<GrepMatch> matches;
  std::uint64_t files_searched = 0;
  std::uint64_t files_skipped = 0;
  std::optional<std::uint64_t> files_binary;  // of those skipped; an old agent does not say
  bool cut = false;
};

enum class Links { follow, look_at };
enum class Missing { error, fine };

struct StatOptions {
  Links links = Links::follow;
  // Fills FileEntry::attributes with the extended attributes user.* that the user can read, as far as there are no more
  // than can be written; of a symbolic link also resolved, target_type and target_mode.
  bool with_attributes = false;
};

struct ListOptions {
  Recursion recursion = Recursion::none;
  std::uint32_t depth = 0;       // of Recursion::whole_tree: so many levels; 0: all
  bool with_attributes = false;  // as of StatOptions
};

struct TarCaps {
  Bytes content;              // 0: the sandbox's own limits
  std::uint64_t entries = 0;  // 0: the agent's cap
  // The mode for files of mode 0: exactly that, or the mode of the file they replace (0644 if there is none). For
  // agents that can_keep_modes().
  enum class NoMode { is_zero, keeps } no_mode = NoMode::is_zero;
  WriteOptions::ReadOnly read_only = WriteOptions::ReadOnly::refuse;
};

struct Unpacked {
  std::uint64_t entries = 0;
  Bytes content;
};

class Files {
 public:
  // Gives the next piece of a stream; empty at its end.
  using Source = std::function<Task<Result<std::string>>()>;
  // Takes the next piece of a stream.
  using Sink = std::function<Task<Status>(std::string)>;

  // The file appears whole or not at all (unless appended to).
  Task<Status> write(FilePath path, std::string bytes, WriteOptions options = {},
                     Deadline deadline = Deadline::never());
  Task<Status> write_stream(FilePath path, Source source, WriteOptions options = {},
                            Deadline deadline = Deadline::never());
  // At most `most` bytes of the range; `cut` if there was more.
  Task<Result<ReadResult>> read(FilePath path, FileRange range, Bytes most, Deadline deadline = Deadline::never());
  Task<Status> read_stream(FilePath path, FileRange range, Sink sink, Deadline deadline = Deadline::never());
  // Of the file system in which the path is, as the sandbox reports it. `unsupported` with an agent of before.
  Task<Result<DiskSpace>> space(FilePath path, Deadline deadline = Deadline::never());
  Task<Result<FileEntry>> stat(FilePath path, Links links = Links::follow, Deadline deadline = Deadline::never());
  Task<Result<FileEntry>> stat(FilePath path, StatOptions options, Deadline deadline = Deadline::never());
  Task<Result<EntryList>> list(FilePath path, Recursion recursion = Recursion::none,
                               Deadline deadline = Deadline::never());
  Task<Result<EntryList>> list(FilePath path, ListOptions options, Deadline deadline = Deadline::never());
  // How many names were removed.
  Task<Result<std::uint64_t>> remove(FilePath path, Recursion recursion, Missing missing,
                                     Deadline deadline = Deadline::never());
  // How many were made.
  Task<Result<std::uint64_t>> make_directory(FilePath path, DirectoryOptions options = {},
                                             Deadline deadline = Deadline::never());
  // Atomic on one file system; else copied, then removed.
  Task<Status> move(FilePath from, FilePath to, MoveOptions options = {}, Deadline deadline = Deadline::never());
  // Replaces an exact text of a file atomically. A file that is not as expected is not an error: see the outcome.
  Task<Result<EditResult>> edit(FilePath path, EditRequest edit, Deadline deadline = Deadline::never());
  // A tar stream, unpacked below the path, all of it or nothing.
  Task<Result<Unpacked>> unpack(FilePath path, Source source, TarCaps caps = {}, Deadline deadline = Deadline::never());
  // A tar stream of a file or a tree.
  Task<Status> pack(FilePath path, Sink sink, Deadline deadline = Deadline::never());
  Task<Result<EntryList>> glob(FilePath path, std::string pattern, GlobOptions options = {},
                               Deadline deadline = Deadline::never());
  Task<Result<GrepResult>> grep(FilePath path, std::string pattern, GrepOptions options,
                                Deadline deadline = Deadline::never());
  // A moment of the sandbox's clock. What is changed in this tree after this has returned is younger; what was changed
  // before it was called is not. For changes by the same rules.
  Task<Result<std::int64_t>> mark(FilePath path, ChangeRules rules, Deadline deadline = Deadline::never());
  // Regular files of the tree that were made, written, renamed or whose mode was changed since the mark, by path.
  // Symbolic links are not followed. `discard`, an absolute path elsewhere, is removed first, with all below it.
  Task<Result<EntryList>> changes(FilePath path, std::int64_t since, ChangeCaps caps, std::string discard,
                                  Deadline deadline = Deadline::never());

  // Watches a directory. It is armed when this returns: what happens after that is told. limit_reached when the sandbox
  // has too many watches.
  Task<Result<std::unique_ptr<FileWatch>>> watch(FilePath path, WatchOptions options,
                                                 Deadline deadline = Deadline::never());

  // Whether the agent knows TarCaps::NoMode::keeps.
  bool can_keep_modes() const;

  // The request behind `changes`, but for the mark.
  wire::FileRequest changes_request(FilePath path, const ChangeCaps& caps, std::string discard) const;

  Files(AgentLink& link, std::uint32_t uid, std::uint32_t gid) : link_(link), uid_(uid), gid_(gid) {}

 private:
  wire::FileRequest request(wire::FileOp op, FilePath path) const;
  // `unsupported` when the agent is too old for it.
  Result<std::unique_ptr<AgentStream>> open(const wire::FileRequest& request);
  Task<Result<wire::FileReply>> perform(wire::FileRequest request, Source source, Sink sink, Deadline deadline);

  AgentLink& link_;
  std::uint32_t uid_;
  std::uint32_t gid_;
};

// A source that gives these bytes.
Files::Source from_memory(std::string bytes);

}  // namespace cloche
