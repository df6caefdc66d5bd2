// The names in a directory, held compactly: a hostile one may have very many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::agent {

class NameList {
 public:
  std::size_t size() const { return at_.size(); }
  bool empty() const { return at_.empty(); }
  const char* name(std::size_t i) const { return pool_.data() + at_[i] + 1; }
  // DT_REG and its like; DT_UNKNOWN where the file system does not say.
  unsigned char type(std::size_t i) const { return static_cast<unsigned char>(pool_[at_[i]]); }
  // Memory held, about.
  std::size_t bytes() const { return pool_.size() + at_.size() * sizeof(at_[0]); }

  void add(std::string_view name, unsigned char type);
  void sort();
  // Sorts, and forgets all but the first `count` names.
  void keep_first(std::size_t count);
  void clear();

 private:
  std::string pool_;  // for each name: type, name, NUL
  std::vector<std::uint32_t> at_;
};

// Most bytes one list holds. Workers share the sandbox's memory with its programs.
constexpr std::size_t most_name_bytes = std::size_t{16} * 1024 * 1024;

enum class Names {
  any,    // in the order of the directory; when there are more than `most`, the first that came
  first,  // sorted; when there are more than `most`, the first of them all
};

struct NamesRead {
  int error = 0;     // errno; EOVERFLOW when they are more than most_name_bytes
  bool cut = false;  // there were more
};

// Reads names (not `.` and `..`) from where the descriptor stands. `most` 0: no cap but that of memory.
NamesRead read_names(int directory, NameList& names, Names which, std::size_t most);

}  // namespace cloche::agent
