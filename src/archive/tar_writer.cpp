#include "archive/tar_writer.hpp"

#include <algorithm>

namespace cloche::tar {

namespace {

// The largest octal number in a field, without the byte that ends it.
std::uint64_t largest_in(Field field) { return (std::uint64_t{1} << (3 * (field.size - 1))) - 1; }

void put_text(std::string& block, Field field, std::string_view text) {
  text = text.substr(0, field.size);
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

// In octal with leading zeros; 0 if it does not fit, because then a pax record contains it.
void put_number(std::string& block, Field field, std::uint64_t number) {
  if (number > largest_in(field)) number = 0;
  for (std::size_t i = field.size - 1; i-- > 0; number >>= 3) {
    block[field.offset + i] = static_cast<char>('0' + (number & 7));
  }
}

char type_letter(EntryType type) {
  switch (type) {
    case EntryType::file: return '0';
    case EntryType::hardlink: return '1';
    case EntryType::symlink: return '2';
    case EntryType::directory: return '5';
  }
  return '0';
}

// Where a path can be cut so that both parts fit their fields; npos when nowhere. 0: it fits the name alone.
std::size_t split_of(std::string_view path) {
  if (path.size() <= name_field.size) return 0;
  // The name must not be empty, so a slash at the very end is not a place to split.
  const auto first = path.size() - name_field.size - 1;
  const auto slash = path.find('/', first);
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size() || slash > prefix_field.size) {
    return std::string_view::npos;
  }
  return slash;
}

// "<length> key=value\n", where the length counts its own digits.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) ++length;
  records.append(std::to_string(length)).append(" ").append(key).append("=").append(value).append("\n");
}

std::string block_for(const Entry& entry, std::string_view path, char type) {
  std::string block(block_size, '\0');
  const auto split = split_of(path);
  if (split == 0 || split == std::string_view::npos) {
    put_text(block, name_field, path);
  } else {
    put_text(block, prefix_field, path.substr(0, split));
    put_text(block, name_field, path.substr(split + 1));
  }
  put_number(block, mode_field, entry.mode);
  put_number(block, uid_field, entry.uid);
  put_number(block, gid_field, entry.gid);
  put_number(block, size_field, entry.size);
  put_number(block, mtime_field, entry.mtime < 0 ? 0 : static_cast<std::uint64_t>(entry.mtime));
  block[type_field.offset] = type;
  put_text(block, link_field, entry.link);
  put_text(block, magic_field, ustar_magic);
  put_text(block, checksum_field, "        ");
  // Six digits, a NUL, a space: the form every reader knows.
  put_number(block, {checksum_field.offset, checksum_field.size - 1}, checksum_of(block));
  block[checksum_field.offset + 6] = '\0';
  return block;
}

}  // namespace

std::string header(const Entry& entry) {
  std::string path = entry.path;
  if (entry.type == EntryType::directory) path += '/';
  std::string records;
  if (split_of(path) == std::string_view::npos) add_record(records, "path", path);
  if (entry.link.size() > link_field.size) add_record(records, "linkpath", entry.link);
  if (entry.size > largest_in(size_field)) add_record(records, "size", std::to_string(entry.size));
  if (entry.uid > largest_in(uid_field)) add_record(records, "uid", std::to_string(entry.uid));
  if (entry.gid > largest_in(gid_field)) add_record(records, "gid", std::to_string(entry.gid));
  if (entry.mtime < 0 || static_cast<std::uint64_t>(entry.mtime) > largest_in(mtime_field)) {
    add_record(records, "mtime", std::to_string(entry.mtime));
  }
  std::string out;
  if (!records.empty()) {
    Entry extension;
    extension.size = records.size();
    extension.mode = 0644;
    out = block_for(extension, "pax-header", 'x');
    out += records;
    out.append(padding_after(records.size()), '\0');
  }
  return out += block_for(entry, path, type_letter(entry.type));
}

std::string end_mark() { return std::string(2 * block_size, '\0'); }

}  // namespace cloche::tar
