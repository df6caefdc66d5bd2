#include "agent/files/tree/names.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cloche::agent {

void NameList::add(std::string_view name, unsigned char type) {
  at_.push_back(static_cast<std::uint32_t>(pool_.size()));
  pool_ += static_cast<char>(type);
  pool_ += name;
  pool_ += '\0';
}

void NameList::sort() {
  // strcmp compares as unsigned bytes, whatever the locale.
  std::sort(at_.begin(), at_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::strcmp(pool_.data() + a + 1, pool_.data() + b + 1) < 0;
  });
}

void NameList::keep_first(std::size_t count) {
  sort();
  if (at_.size() <= count) return;
  NameList kept;
  for (std::size_t i = 0; i < count; ++i) kept.add(name(i), type(i));
  *this = std::move(kept);
}

void NameList::clear() {
  pool_.clear();
  at_.clear();
}

NamesRead read_names(int directory, NameList& names, Names which, std::size_t most) {
  alignas(dirent64) char buffer[32 * 1024];
  NamesRead result;
  for (;;) {
    const ssize_t got = ::getdents64(directory, buffer, sizeof buffer);
    if (got < 0) result.error = errno;
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      names.add(name, entry->d_type);
    }
    if (most != 0 && which == Names::any && names.size() >= most) {
      // A whole buffer was taken, so nothing read is lost; whether more follows is for the next read to say.
      result.cut = true;
      break;
    }
    if (most != 0 && which == Names::first && names.size() >= 2 * most) {
      names.keep_first(most);
      result.cut = true;
    }
    if (names.bytes() > most_name_bytes) {
      result.error = EOVERFLOW;
      break;
    }
  }
  if (which == Names::first) {
    if (most != 0 && names.size() > most) {
      names.keep_first(most);
      result.cut = true;
    } else {
      names.sort();
    }
  }
  return result;
}

}  // namespace cloche::agent
