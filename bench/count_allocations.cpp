// A malloc that counts its calls, to be preloaded into a server: how many allocations a run costs.
//
//   LD_PRELOAD=libcount_allocations.so CLOCHE_ALLOCATION_COUNT=FILE cloche serve …
//
// FILE has 8 bytes at least; the count is kept in the first 8, where others can read it while the server runs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

// The functions of glibc's own, under their other names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<std::uint64_t> before_the_file{0};
std::atomic<std::atomic<std::uint64_t>*> counter{&before_the_file};

void count() { counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed); }

[[gnu::constructor]] void open_file() {
  const char* path = std::getenv("CLOCHE_ALLOCATION_COUNT");
  if (path == nullptr) return;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* shared = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (shared != MAP_FAILED) counter.store(static_cast<std::atomic<std::uint64_t>*>(shared));
}

}  // namespace

#define CLOCHE_EXPORTED extern "C" __attribute__((visibility("default")))

CLOCHE_EXPORTED void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}

CLOCHE_EXPORTED void* calloc(std::size_t number, std::size_t size) {
  count();
  return __libc_calloc(number, size);
}

CLOCHE_EXPORTED void* realloc(void* memory, std::size_t size) {
  count();
  return __libc_realloc(memory, size);
}

CLOCHE_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

CLOCHE_EXPORTED int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count();
  void* got = __libc_memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}
