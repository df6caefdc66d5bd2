#include "agent/reset/ipc_objects.hpp"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

namespace cloche::agent {

namespace {

constexpr long mqueue_magic = 0x19800202;
// Ids that are tried where the kernel has no list.
constexpr int most_tried_ids = 4096;

union SemaphoreArgument {
  int value;
  semid_ds* buffer;
};

// One kind of System V object and what can be done with it.
struct Kind {
  const char* name;
  const char* list;  // of the kernel: ids in the second column
  int (*make)();
  int (*look)(int id);
  int (*remove)(int id);
};

constexpr std::array kinds = {
    Kind{"shared memory segment", "/proc/sysvipc/shm", [] { return ::shmget(IPC_PRIVATE, 4096, 0600); },
         [](int id) {
           shmid_ds about{};
           return ::shmctl(id, IPC_STAT, &about);
         },
         [](int id) { return ::shmctl(id, IPC_RMID, nullptr); }},
    Kind{"semaphore set", "/proc/sysvipc/sem", [] { return ::semget(IPC_PRIVATE, 1, 0600); },
         [](int id) {
           semid_ds about{};
           SemaphoreArgument argument{};
           argument.buffer = &about;
           return ::semctl(id, 0, IPC_STAT, argument);
         },
         [](int id) { return ::semctl(id, 0, IPC_RMID); }},
    Kind{"message queue", "/proc/sysvipc/msg", [] { return ::msgget(IPC_PRIVATE, 0600); },
         [](int id) {
           msqid_ds about{};
           return ::msgctl(id, IPC_STAT, &about);
         },
         [](int id) { return ::msgctl(id, IPC_RMID, nullptr); }},
};

std::optional<std::vector<int>> listed_ids(const Kind& kind) {
  std::FILE* file = std::fopen(kind.list, "re");
  if (file == nullptr) return std::nullopt;
  std::vector<int> ids;
  char line[512];
  for (bool header = true; std::fgets(line, sizeof line, file) != nullptr; header = false) {
    int key = 0;
    int id = 0;
    if (!header && std::sscanf(line, "%d %d", &key, &id) == 2) ids.push_back(id);
  }
  std::fclose(file);
  return ids;
}

struct Found {
  std::vector<int> ids;
  bool all = true;  // false: there may be more that cannot be seen
};

// Uses the kernel's list. Without one (gVisor) it checks each id: ids are assigned in sequence, so a new one shows how
// far they have advanced.
Found find(const Kind& kind) {
  if (auto listed = listed_ids(kind)) return {std::move(*listed), true};
  const int newest = kind.make();
  if (newest < 0) return {{}, errno == ENOSYS || errno == EPERM};
  kind.remove(newest);
  Found found;
  found.all = newest <= most_tried_ids;
  for (int id = 0; id < std::min(newest, most_tried_ids); ++id) {
    if (kind.look(id) == 0 || errno == EACCES) found.ids.push_back(id);
  }
  return found;
}

}  // namespace

std::vector<std::string> list_ipc_objects() {
  std::vector<std::string> lines;
  for (const Kind& kind : kinds) {
    const Found found = find(kind);
    for (const int id : found.ids) lines.push_back(std::string(kind.name) + " " + std::to_string(id));
    if (!found.all) lines.push_back(std::string("possibly a ") + kind.name + ", which is not visible here");
  }
  return lines;
}

std::uint64_t remove_ipc_objects() {
  std::uint64_t removed = 0;
  for (const Kind& kind : kinds) {
    for (const int id : find(kind).ids) removed += kind.remove(id) == 0 ? 1 : 0;
  }
  return removed;
}

bool has_invisible_queues() {
  struct statfs about{};
  if (::statfs("/dev/mqueue", &about) == 0 && about.f_type == mqueue_magic) return false;
  constexpr const char* probe = "/cloche-probe";
  const mqd_t queue = ::mq_open(probe, O_RDWR | O_CREAT | O_EXCL, 0600, nullptr);
  if (queue < 0) return false;
  ::mq_close(queue);
  ::mq_unlink(probe);
  return true;
}

}  // namespace cloche::agent
