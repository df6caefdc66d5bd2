#include "backend/oci/agent_store.hpp"

#include <sys/stat.h>

#include "backend/oci/files.hpp"
#include "crypto/sha256.hpp"

namespace cloche::oci {

AgentStore::AgentStore(std::string directory, std::string agent)
    : directory_(std::move(directory)), agent_(std::move(agent)) {}

Result<AgentStore::Copy> AgentStore::ensure() {
  const std::lock_guard lock(mutex_);
  struct stat about;
  if (::stat(agent_.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return fail(ErrorCode::not_found, "no agent at '" + agent_ + "'; build it or set its path");
  }
  const std::string identity = std::to_string(about.st_dev) + " " + std::to_string(about.st_ino) + " " +
                               std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) + " " +
                               std::to_string(about.st_mtim.tv_nsec);
  if (identity == identity_ && path_exists(copy_.path)) return copy_;
  CLOCHE_TRY(const std::string content, read_file(agent_, mib(256)));
  Copy copy;
  copy.digest = sha256_hex(content);
  copy.path = directory_ + "/" + copy.digest + "/agent";
  if (!path_exists(copy.path)) {
    CLOCHE_CHECK(make_directories(parent_of(copy.path), 0711));
    CLOCHE_CHECK(write_file_atomically(copy.path, content, 0755));
  }
  identity_ = identity;
  copy_ = copy;
  return copy;
}

}  // namespace cloche::oci
