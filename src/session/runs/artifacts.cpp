#include "session/runs/artifacts.hpp"

#include <algorithm>

#include "crypto/sha256.hpp"
#include "session/runs/run_directory.hpp"

namespace cloche::session {

namespace {

// Enough for every signature, and for the first parts of an office document.
constexpr std::size_t sniffed = 4096;

// The checksum of a file, and its beginning, while it streams by.
class Reading {
 public:
  explicit Reading(Bytes most) : most_(most) {}

  // False when it is more than was allowed.
  bool take(std::string_view bytes) {
    size_ += bytes.size();
    if (size_ > most_.count) return false;
    if (start_.size() < sniffed) start_.append(bytes.substr(0, sniffed - start_.size()));
    digest_.update(bytes);
    return true;
  }

  std::uint64_t size() const { return size_; }
  const std::string& start() const { return start_; }
  std::string sha256() { return digest_.hex(); }

 private:
  Sha256 digest_;
  Bytes most_;
  std::uint64_t size_ = 0;
  std::string start_;
};

// nullopt when it cannot be read (any more), or is larger than it was said to be.
Task<Result<std::optional<Artifact>>> read_artifact(LiveSandbox& sandbox, std::string work_dir, std::string path,
                                                    Bytes most, Deadline deadline) {
  Reading reading(most);
  Files::Sink sink = [&reading](std::string bytes) -> Task<Status> {
    if (!reading.take(bytes)) co_return fail(ErrorCode::limit_reached, "the file grew while it was being read");
    co_return Status{};
  };
  auto files = sandbox.files();
  FilePath place = FilePath::beneath(std::move(work_dir), path);
  // One byte more than allowed shows that there is more.
  const FileRange range{.offset = 0, .length = most.count + 1};
  auto read = co_await files.read_stream(std::move(place), range, std::move(sink), deadline);
  if (!read) {
    const ErrorCode code = read.error().code;
    if (code == ErrorCode::sandbox_lost || code == ErrorCode::timeout) co_return fail(std::move(read).error());
    co_return std::optional<Artifact>();
  }
  Artifact artifact;
  artifact.name = path.substr(path.rfind('/') + 1);
  artifact.content_type = content_type_of(artifact.name, reading.start());
  artifact.path = std::move(path);
  artifact.size = reading.size();
  artifact.sha256 = reading.sha256();
  co_return std::optional<Artifact>(std::move(artifact));
}

bool is_cloches_own(std::string_view path) { return is_run_directory(path.substr(0, path.find('/'))); }

}  // namespace

Task<Result<WorkspaceMark>> WorkspaceMark::take(LiveSandbox& sandbox, std::string work_dir, ChangeRules rules,
                                                Deadline deadline) {
  auto files = sandbox.files();
  FilePath place(work_dir);
  auto moment = co_await files.mark(std::move(place), std::move(rules), deadline);
  if (!moment) co_return fail(std::move(moment).error());
  co_return WorkspaceMark(std::move(work_dir), *moment);
}

Task<Result<ArtifactList>> WorkspaceMark::changes(LiveSandbox& sandbox, ArtifactCaps caps, std::string discard,
                                                  Deadline deadline) const {
  auto files = sandbox.files();
  FilePath place(work_dir_);
  ChangeCaps change_caps;
  change_caps.rules = caps.rules;
  auto found = co_await files.changes(std::move(place), since_ns_, change_caps, std::move(discard), deadline);
  if (!found) co_return fail(std::move(found).error());
  EntryList changed = std::move(*found);
  auto told = co_await describe_artifacts(sandbox, work_dir_, std::move(changed), caps, deadline);
  co_return told;
}

Task<Result<ArtifactList>> describe_artifacts(LiveSandbox& sandbox, const std::string& work_dir, EntryList found,
                                              ArtifactCaps caps, Deadline deadline) {
  ArtifactList list;
  list.cut = found.cut;
  list.ignored = found.ignored;
  std::erase_if(found.entries, [](const FileEntry& entry) { return is_cloches_own(entry.path); });
  std::ranges::sort(found.entries, [](const FileEntry& a, const FileEntry& b) {
    const auto depth_of_a = std::ranges::count(a.path, '/');
    const auto depth_of_b = std::ranges::count(b.path, '/');
    return depth_of_a != depth_of_b ? depth_of_a < depth_of_b : a.path < b.path;
  });
  std::uint64_t left = caps.all.count;
  for (FileEntry& entry : found.entries) {
    const Bytes most{std::min(caps.each.count, left)};
    // By its apparent size: a sparse file is as large as its reader sees it.
    if (list.artifacts.size() >= caps.most || entry.size > most.count) {
      ++list.left_out;
      continue;
    }
    auto artifact = co_await read_artifact(sandbox, work_dir, std::move(entry.path), most, deadline);
    if (!artifact) co_return fail(std::move(artifact).error());
    if (!*artifact) {
      ++list.left_out;
      continue;
    }
    left -= (*artifact)->size;
    list.artifacts.push_back(std::move(**artifact));
  }
  co_return list;
}

}  // namespace cloche::session
