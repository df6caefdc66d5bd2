#include "session/file_tar.hpp"

#include <ctime>

#include "agent/files/tar_writer.hpp"

namespace cloche::session {

namespace {

namespace tar = agent::tar;

class Archive {
 public:
  explicit Archive(FileTree files) : files_(std::move(files)), now_(std::time(nullptr)) {}

  // A file in each piece, then the end mark, then nothing.
  std::string next() {
    if (ended_) return {};
    if (files_.empty()) {
      ended_ = true;
      return tar::end_mark();
    }
    const auto file = files_.extract(files_.begin());
    tar::Entry entry;
    entry.path = file.key();
    entry.size = file.mapped().size();
    entry.mode = 0644;
    entry.mtime = now_;
    std::string piece = tar::header(entry);
    piece += file.mapped();
    return piece.append(tar::padding_after(entry.size), '\0');
  }

 private:
  FileTree files_;
  std::int64_t now_;
  bool ended_ = false;
};

}  // namespace

Files::Source tar_of(FileTree files) {
  auto archive = std::make_shared<Archive>(std::move(files));
  return [archive]() -> Task<Result<std::string>> { co_return archive->next(); };
}

}  // namespace cloche::session
