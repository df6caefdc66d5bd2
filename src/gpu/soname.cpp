#include "gpu/soname.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "core/unique_fd.hpp"

namespace cloche::gpu {

namespace {

constexpr std::size_t most_segments = 256;
constexpr std::size_t most_entries = 4096;
constexpr std::size_t longest_name = 255;

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half this_machine = EM_AARCH64;
#else
constexpr Elf64_Half this_machine = EM_NONE;
#endif

template <class T>
bool read_items(int fd, std::uint64_t offset, std::vector<T>& items) {
  const auto size = items.size() * sizeof(T);
  return ::pread(fd, items.data(), size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// Where an address of the loaded library is in the file.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::optional<std::string> read_name(int fd, std::uint64_t offset) {
  char name[longest_name + 1] = {};
  if (::pread(fd, name, longest_name, static_cast<off_t>(offset)) <= 0) return std::nullopt;
  const std::size_t length = ::strnlen(name, longest_name);
  const std::string_view text(name, length);
  if (text.empty() || text.find('/') != text.npos || text.front() == '.') return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<std::string> soname_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::vector<Elf64_Ehdr> header(1);
  if (!read_items(fd.get(), 0, header)) return std::nullopt;
  const Elf64_Ehdr& about = header.front();
  if (std::memcmp(about.e_ident, ELFMAG, SELFMAG) != 0 || about.e_ident[EI_CLASS] != ELFCLASS64 ||
      about.e_ident[EI_DATA] != ELFDATA2LSB || about.e_type != ET_DYN || about.e_machine != this_machine ||
      about.e_phentsize != sizeof(Elf64_Phdr) || about.e_phnum > most_segments) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> segments(about.e_phnum);
  if (!read_items(fd.get(), about.e_phoff, segments)) return std::nullopt;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC || segment.p_filesz / sizeof(Elf64_Dyn) > most_entries) continue;
    std::vector<Elf64_Dyn> entries(segment.p_filesz / sizeof(Elf64_Dyn));
    if (!read_items(fd.get(), segment.p_offset, entries)) return std::nullopt;
    std::optional<std::uint64_t> table, name;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) table = offset_of(segments, entry.d_un.d_ptr);
      if (entry.d_tag == DT_SONAME) name = entry.d_un.d_val;
    }
    if (table && name) return read_name(fd.get(), *table + *name);
  }
  return std::nullopt;
}

}  // namespace cloche::gpu
