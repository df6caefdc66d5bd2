// The archive reader on any bytes, split anywhere: it neither crashes nor hands out a name that leads out, and the
// split changes nothing. What it reads, the writer writes so that it reads the same again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "archive/tar_reader.hpp"
#include "archive/tar_writer.hpp"

namespace {

using cloche::tar::Entry;
using cloche::tar::EntryType;
using cloche::tar::Reader;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Read {
  bool good = false;
  std::string error;
  std::vector<Entry> entries;
  std::string content;
};

void check(const Entry& entry) {
  const std::string path = "/" + entry.path + "/";
  require(!entry.path.starts_with('/') && path.find("/../") == std::string::npos);
  require(entry.path.find('\0') == std::string::npos && (entry.mode & ~0777U) == 0);
  require(entry.type == EntryType::directory || !entry.path.empty());
  require(entry.type == EntryType::file || entry.size == 0);
  if (entry.type == EntryType::hardlink)
    require(!entry.link.starts_with('/') && ("/" + entry.link + "/").find("/../") == std::string::npos);
}

Read read_all(std::string_view bytes, std::size_t piece) {
  Read read;
  Reader reader;
  while (!bytes.empty()) {
    // A copy of just this size, so that reading past it is noticed.
    const std::vector<char> part(bytes.begin(),
                                 bytes.begin() + static_cast<std::ptrdiff_t>(std::min(piece, bytes.size())));
    bytes.remove_prefix(part.size());
    reader.feed({part.data(), part.size()});
    for (;;) {
      const auto event = reader.next();
      if (!event) {
        read.error = event.error().message;
        return read;
      }
      if (*event == Reader::Event::more) break;
      if (*event == Reader::Event::data) read.content += reader.data();
      if (*event == Reader::Event::entry) {
        check(reader.entry());
        read.entries.push_back(reader.entry());
      }
    }
  }
  const auto end = reader.finish();
  read.good = end.has_value();
  if (!end) read.error = end.error().message;
  return read;
}

void check_written(const Entry& entry) {
  if (entry.path.empty()) return;
  const Read again = read_all(cloche::tar::header(entry), 512);
  require(again.entries.size() == 1);
  require(again.entries[0].path == entry.path && again.entries[0].link == entry.link &&
          again.entries[0].size == entry.size);
  require(again.entries[0].type == entry.type && again.entries[0].mode == entry.mode &&
          again.entries[0].mtime == entry.mtime);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read whole = read_all(bytes, size + 1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, std::size_t{512}}) {
    const Read split = read_all(bytes, piece);
    require(split.good == whole.good && split.error == whole.error && split.content == whole.content);
    require(split.entries.size() == whole.entries.size());
  }
  for (const Entry& entry : whole.entries) check_written(entry);
  return 0;
}

// A changed byte breaks a block's checksum and the rest is never read, so most changed inputs get their sums put right.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  namespace tar = cloche::tar;
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;
  for (std::size_t at = 0; at + tar::block_size <= size; at += tar::block_size) {
    auto* block = reinterpret_cast<char*>(data + at);
    if (block[tar::magic_field.offset] != 'u') continue;
    std::uint32_t sum = tar::checksum_of({block, tar::block_size});
    for (std::size_t i = 6; i-- > 0; sum >>= 3)
      block[tar::checksum_field.offset + i] = static_cast<char>('0' + (sum & 7));
    block[tar::checksum_field.offset + 6] = '\0';
    block[tar::checksum_field.offset + 7] = ' ';
  }
  return size;
}
