// Files: what can be done with files of a living sandbox. All of it is done by the agent under the sandbox user's
// rights.
//
// Paths are absolute, or relative to a root beneath which they must stay, symlinks and all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/task.hpp"
#include "sandbox/agent_link.hpp"
#include "wire/file_messages.hpp"

namespace cloche {

using wire::FileEntry;
using wire::FileType;
using wire::GrepMatch;

struct FilePath {
  std::string path;
  std::string root;  // empty: path is absolute

  FilePath(std::string absolute) : path(std::move(absolute)) {}  // NOLINT: a plain path is the common case
  FilePath(const char* absolute) : path(absolute) {}             // NOLINT
  static FilePath beneath(std::string root, std::string relative);
};

struct WriteOptions {
  std::uint32_t mode = 0644;
  enum class Parents { must_exist, make } parents = Parents::make;
  enum class Existing { replace, append } existing = Existing::replace;
  Bytes most;  // 0: no cap but the sandbox's own
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
};

struct GlobOptions {
  enum class Hidden { skip, match } hidden = Hidden::skip;
  std::uint64_t most = 10'000;
};

struct GrepOptions {
  std::string glob;
  enum class Case { exact, ignore } letter_case = Case::exact;
  std::uint32_t context_lines = 0;
  std::uint64_t most = 1'000;
};

struct ChangeCaps {
  std::uint64_t told = 10'000;
  std::uint64_t looked_at = 50'000;  // names in the tree, changed or not
};
// What an agent told of changes, once it has been checked.
Result<EntryList> told_changes(wire::FileReply reply, const ChangeCaps& caps);

struct GrepResult {
  std::vector<GrepMatch> matches;
  std::uint64_t files_searched = 0;
  std::uint64_t files_skipped = 0;
  bool cut = false;
};

enum class Recursion { none, whole_tree };
enum class Links { follow, look_at };
enum class Missing { error, fine };

struct TarCaps {
  Bytes content;              // 0: the sandbox's own limits
  std::uint64_t entries = 0;  // 0: the agent's cap
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
  // At most `most` bytes of the range; `cut` when there was more.
  Task<Result<ReadResult>> read(FilePath path, FileRange range, Bytes most, Deadline deadline = Deadline::never());
  Task<Status> read_stream(FilePath path, FileRange range, Sink sink, Deadline deadline = Deadline::never());
  Task<Result<FileEntry>> stat(FilePath path, Links links = Links::follow, Deadline deadline = Deadline::never());
  Task<Result<EntryList>> list(FilePath path, Recursion recursion = Recursion::none,
                               Deadline deadline = Deadline::never());
  Task<Status> remove(FilePath path, Recursion recursion, Missing missing, Deadline deadline = Deadline::never());
  Task<Status> make_directory(FilePath path, std::uint32_t mode = 0755, Deadline deadline = Deadline::never());
  // Both beneath the same root, when there is one.
  Task<Status> move(FilePath from, std::string to, Deadline deadline = Deadline::never());
  // A tar stream, unpacked below the path, all of it or nothing.
  Task<Result<Unpacked>> unpack(FilePath path, Source source, TarCaps caps = {}, Deadline deadline = Deadline::never());
  // A tar stream of a file or a tree.
  Task<Status> pack(FilePath path, Sink sink, Deadline deadline = Deadline::never());
  Task<Result<EntryList>> glob(FilePath path, std::string pattern, GlobOptions options = {},
                               Deadline deadline = Deadline::never());
  Task<Result<GrepResult>> grep(FilePath path, std::string pattern, GrepOptions options,
                                Deadline deadline = Deadline::never());
  // A moment of the sandbox's clock. What is changed in this tree after this has returned is younger; what was changed
  // before it was called is not.
  Task<Result<std::int64_t>> mark(FilePath path, Deadline deadline = Deadline::never());
  // Regular files of the tree that were made, written, renamed or whose mode was changed since the mark, by path.
  // Symbolic links are not followed. `discard`, an absolute path elsewhere, is removed first, with all below it.
  Task<Result<EntryList>> changes(FilePath path, std::int64_t since, ChangeCaps caps, std::string discard,
                                  Deadline deadline = Deadline::never());

  // The request behind `changes`, but for the mark.
  wire::FileRequest changes_request(FilePath path, const ChangeCaps& caps, std::string discard) const;

  Files(AgentLink& link, std::uint32_t uid, std::uint32_t gid) : link_(link), uid_(uid), gid_(gid) {}

 private:
  wire::FileRequest request(wire::FileOp op, FilePath path) const;
  Task<Result<wire::FileReply>> perform(wire::FileRequest request, Source source, Sink sink, Deadline deadline);

  AgentLink& link_;
  std::uint32_t uid_;
  std::uint32_t gid_;
};

// A source that gives these bytes.
Files::Source from_memory(std::string bytes);

}  // namespace cloche
