#include "agent/ipc_objects.hpp"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <cstdio>
#include <string_view>

namespace cloche::agent {

namespace {

// The second column of /proc/sysvipc/* is the id.
std::vector<int> ids_in(const char* path) {
  std::vector<int> ids;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return ids;
  char line[512];
  for (bool header = true; std::fgets(line, sizeof line, file) != nullptr; header = false) {
    int key = 0;
    int id = 0;
    if (!header && std::sscanf(line, "%d %d", &key, &id) == 2) ids.push_back(id);
  }
  std::fclose(file);
  return ids;
}

constexpr const char* shm_path = "/proc/sysvipc/shm";
constexpr const char* sem_path = "/proc/sysvipc/sem";
constexpr const char* msg_path = "/proc/sysvipc/msg";

}  // namespace

std::vector<std::string> list_ipc_objects() {
  std::vector<std::string> found;
  for (int id : ids_in(shm_path)) found.push_back("shm " + std::to_string(id));
  for (int id : ids_in(sem_path)) found.push_back("sem " + std::to_string(id));
  for (int id : ids_in(msg_path)) found.push_back("msg " + std::to_string(id));
  return found;
}

std::uint64_t remove_ipc_objects() {
  std::uint64_t removed = 0;
  for (int id : ids_in(shm_path)) removed += ::shmctl(id, IPC_RMID, nullptr) == 0 ? 1 : 0;
  for (int id : ids_in(sem_path)) removed += ::semctl(id, 0, IPC_RMID) == 0 ? 1 : 0;
  for (int id : ids_in(msg_path)) removed += ::msgctl(id, IPC_RMID, nullptr) == 0 ? 1 : 0;
  return removed;
}

}  // namespace cloche::agent
