// The archive writer, read back by the reader.
#include "archive/tar_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive/tar_reader.hpp"

namespace cloche::tar {
namespace {

tar::Entry written_and_read(const tar::Entry& entry) {
  const std::string header = tar::header(entry);
  EXPECT_EQ(header.size() % 512, 0U);
  tar::Reader reader;
  reader.feed(header);
  const auto event = reader.next();
  EXPECT_TRUE(event && *event == tar::Reader::Event::entry) << (event ? "" : event.error().message);
  return reader.entry();
}

TEST(TarWriter, PlainEntry_NeedsNoExtension) {
  const tar::Entry entry{.path = "d/f", .size = 12, .mode = 0755, .uid = 1000, .gid = 1000, .mtime = 1'700'000'000};
  EXPECT_EQ(tar::header(entry).size(), 512U);
  const tar::Entry read = written_and_read(entry);
  EXPECT_EQ(read.path, "d/f");
  EXPECT_EQ(read.size, 12U);
  EXPECT_EQ(read.mode, 0755U);
  EXPECT_EQ(read.mtime, 1'700'000'000);
}

TEST(TarWriter, PathsOfEveryLength_ComeBack) {
  for (std::size_t length = 1; length < 600; ++length) {
    std::string path;
    while (path.size() < length) path += path.size() % 40 == 39 && path.size() + 1 < length ? '/' : 'x';
    EXPECT_EQ(written_and_read({.path = path}).path, path) << length;
    EXPECT_EQ(written_and_read({.type = tar::EntryType::directory, .path = path}).path, path) << length;
    const std::string flat(length, 'y');
    EXPECT_EQ(written_and_read({.path = flat}).path, flat) << length;
  }
  const std::string endless(40'000, 'z');
  EXPECT_EQ(written_and_read({.path = "d/" + endless}).path, "d/" + endless);
}

TEST(TarWriter, PathThatFitsPrefix_NeedsNoExtension) {
  EXPECT_EQ(tar::header({.path = std::string(150, 'a') + "/" + std::string(99, 'b')}).size(), 512U);
}

TEST(TarWriter, LongLink_ComesBack) {
  const std::string target(1000, 't');
  const auto read = written_and_read({.type = tar::EntryType::symlink, .path = "l", .link = target});
  EXPECT_EQ(read.link, target);
  EXPECT_EQ(read.type, tar::EntryType::symlink);
}

TEST(TarWriter, HugeSizesOddTimesAndOwners_ComeBack) {
  for (const std::uint64_t size : {(8ULL << 30) - 1, 8ULL << 30, 1ULL << 50})
    EXPECT_EQ(written_and_read({.path = "f", .size = size}).size, size);
  for (const std::int64_t mtime : {-5LL, 0LL, (1LL << 33) - 1, 1LL << 33, 1LL << 60}) {
    EXPECT_EQ(written_and_read({.path = "f", .mtime = mtime}).mtime, mtime);
  }
  EXPECT_EQ(tar::header({.path = "f", .uid = 4'000'000'000}).size(), 1536U);
}

}  // namespace
}  // namespace cloche::tar
