#include "session/file_tar.hpp"

#include <ctime>

#include "agent/files/tar_writer.hpp"

namespace cloche::session {

namespace {

namespace tar = agent::tar;

class Archive {
 public:
  explicit Archive(std::vector<FileToPack> files) : files_(std::move(files)), now_(std::time(nullptr)) {}

  // A file in each piece, then the end mark, then nothing.
  std::string next() {
    if (at_ > files_.size()) return {};
    if (at_ == files_.size()) {
      ++at_;
      return tar::end_mark();
    }
    const FileToPack file = std::move(files_[at_++]);
    tar::Entry entry;
    entry.path = file.path;
    entry.size = file.content.size();
    entry.mode = file.mode;
    entry.mtime = now_;
    std::string piece = tar::header(entry);
    piece += file.content;
    return piece.append(tar::padding_after(entry.size), '\0');
  }

 private:
  std::vector<FileToPack> files_;
  std::size_t at_ = 0;
  std::int64_t now_;
};

}  // namespace

Files::Source tar_for(const Files& agent, std::vector<FileToPack> files, TarCaps& caps) {
  if (agent.can_keep_modes()) {
    caps.no_mode = TarCaps::NoMode::keeps;
  } else {
    constexpr std::uint32_t usual = 0644;
    for (FileToPack& file : files) file.mode = file.mode == 0 ? usual : file.mode;
  }
  auto archive = std::make_shared<Archive>(std::move(files));
  return [archive]() -> Task<Result<std::string>> { co_return archive->next(); };
}

}  // namespace cloche::session
