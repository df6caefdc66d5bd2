// The tar format's fields, as both reader and writer need them: ustar with pax and GNU extensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::tar {

constexpr std::size_t block_size = 512;

struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field name_field{0, 100};
constexpr Field mode_field{100, 8};
constexpr Field uid_field{108, 8};
constexpr Field gid_field{116, 8};
constexpr Field size_field{124, 12};
constexpr Field mtime_field{136, 12};
constexpr Field checksum_field{148, 8};
constexpr Field type_field{156, 1};
constexpr Field link_field{157, 100};
constexpr Field magic_field{257, 8};
constexpr Field prefix_field{345, 155};

constexpr std::string_view ustar_magic{"ustar\00000", 8};

// The type of an entry in an archive.
enum class EntryType { file, directory, symlink, hardlink };

struct Entry {
  EntryType type = EntryType::file;
  std::string path;  // relative; from a reader without empty, `.` and `..` components, and empty for the top itself
  std::string link;  // target of a symlink; path in the archive of a hard link's other name
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;   // the writer's alone, as gid: a reader ignores owners
  std::uint32_t gid = 0;
  std::int64_t mtime = 0;  // seconds
  std::uint32_t mtime_ns = 0;
};

// A field's bytes.
std::string_view bytes_of(std::string_view block, Field field);
// Up to the first NUL.
std::string_view text_of(std::string_view block, Field field);
// Octal or base-256; empty is 0. nullopt when malformed, negative or too large.
std::optional<std::uint64_t> number_of(std::string_view block, Field field);
// Whether the block's sum is the one it says, counted with unsigned or (as old writers did) signed bytes.
bool checksum_holds(std::string_view block);
std::uint32_t checksum_of(std::string_view block);

// Bytes from the end of content of this size to the next block.
std::size_t padding_after(std::uint64_t size);

// The path without empty and `.` components; nullopt when it is absolute or has `..` or NUL.
std::optional<std::string> clean_path(std::string_view path);

}  // namespace cloche::tar
