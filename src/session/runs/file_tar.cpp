#include "session/runs/file_tar.hpp"

#include <ctime>

#include "archive/tar_writer.hpp"

namespace cloche::session {

namespace {

class Archive {
 public:
  explicit Archive(std::vector<FileToPack> files) : files_(std::move(files)), now_(std::time(nullptr)) {}

  // Small files in one piece each, large ones in several, then the end mark, then nothing.
  std::string next() {
    if (at_ > files_.size()) return {};
    if (at_ == files_.size()) {
      ++at_;
      return tar::end_mark();
    }
    FileToPack& file = files_[at_];
    std::string piece;
    if (sent_ == 0) piece = tar::header(entry_of(file));
    const std::string_view part = std::string_view(file.content).substr(sent_, most_at_once);
    piece += part;
    sent_ += part.size();
    if (sent_ < file.content.size()) return piece;
    piece.append(tar::padding_after(file.content.size()), '\0');
    file = {};  // its memory is free again
    sent_ = 0;
    ++at_;
    return piece;
  }

 private:
  static constexpr std::size_t most_at_once = 256 << 10;

  tar::Entry entry_of(const FileToPack& file) const {
    tar::Entry entry;
    entry.path = file.path;
    entry.size = file.content.size();
    entry.mode = file.mode;
    entry.mtime = now_;
    return entry;
  }

  std::vector<FileToPack> files_;
  std::size_t at_ = 0;    // the file that is sent
  std::size_t sent_ = 0;  // of its content
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
