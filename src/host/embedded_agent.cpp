#include "host/embedded_agent.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/embedded_file.hpp"
#include "core/ids.hpp"
#include "core/unique_fd.hpp"
#include "crypto/sha256.hpp"

CLOCHE_EMBED_FILE(embedded_agent, CLOCHE_AGENT_BINARY);

namespace cloche {

namespace {

std::string directory_of_agents(const std::string& state_dir) { return state_dir + "/agents"; }

bool is_complete(const std::string& path, std::size_t size) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size == static_cast<off_t>(size) &&
         about.st_uid == ::geteuid() && (about.st_mode & 022) == 0;
}

}  // namespace

std::string_view embedded_agent() { return CLOCHE_EMBEDDED(embedded_agent); }

std::string agent_place(const std::string& state_dir) {
  static const std::string checksum = sha256_hex(embedded_agent());
  return directory_of_agents(state_dir) + "/" + checksum;
}

Result<std::string> place_agent(const std::string& state_dir) {
  const std::string_view binary = embedded_agent();
  const std::string directory = directory_of_agents(state_dir);
  const std::string path = agent_place(state_dir);
  if (is_complete(path, binary.size())) return path;

  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return fail(errno_error("make " + directory + " (run as root or choose another state directory)", error.value()));
  }
  const std::string draft = path + "." + random_hex(4);
  UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
  if (!file) return fail_errno("write " + draft);
  for (std::size_t done = 0; done < binary.size();) {
    const ssize_t n = ::write(file.get(), binary.data() + done, binary.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      auto failure = fail_errno("write " + draft);
      ::unlink(draft.c_str());
      return failure;
    }
    done += static_cast<std::size_t>(n);
  }
  ::fchmod(file.get(), 0755);
  file.reset();
  if (::rename(draft.c_str(), path.c_str()) != 0) {
    auto failure = fail_errno("rename " + draft);
    ::unlink(draft.c_str());
    return failure;
  }
  return path;
}

}  // namespace cloche
