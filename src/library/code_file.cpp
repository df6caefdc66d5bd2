#include "library/code_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cloche/coderunner.hpp"
#include "core/ids.hpp"
#include "core/unique_fd.hpp"

namespace cloche::coderunner {

namespace {

constexpr std::size_t most_code = std::size_t{16} << 20;

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw CodeRunnerException(what + ": " + why);
}

void own_folder(const std::string& path) {
  const std::string what = path + " cannot be used for code";
  std::error_code error;
  const auto above = std::filesystem::path(path).parent_path();
  if (!above.empty()) std::filesystem::create_directories(above, error);
  if (error) refuse(what, error.message());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) refuse(what, std::strerror(errno));
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) refuse(what, std::strerror(errno));
  const bool own = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  if (!own) refuse(what, "it must be a directory that belongs to this user and is not writable by others");
}

bool write_all(int file, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

CodeFile::CodeFile(const std::string& folder, const std::string& extension, const std::string& code)
    : name_(random_hex(16) + extension), path_((std::filesystem::path(folder) / name_).string()) {
  own_folder(folder);
  const std::string what = "cannot write the code to " + path_;
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) refuse(what, std::strerror(errno));
  if (!write_all(file.get(), code)) {
    const std::string why = std::strerror(errno);
    ::unlink(path_.c_str());
    refuse(what, why);
  }
}

CodeFile::~CodeFile() { ::unlink(path_.c_str()); }

std::string read_code(const std::string& path) {
  const std::string what = "cannot read the code from " + path;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) refuse(what, std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) refuse(what, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse(what, "it is not a regular file");
  std::string code;
  char piece[65536];
  for (;;) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(what, std::strerror(errno));
    if (count == 0) return code;
    code.append(piece, static_cast<std::size_t>(count));
    if (code.size() > most_code) refuse(what, "it has more than " + to_string(Bytes{most_code}));
  }
}

}  // namespace cloche::coderunner
