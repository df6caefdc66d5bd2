// The archive reader: all forms of tar it understands, and all it must refuse.
#include "archive/tar_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "archive/testing/tar_bytes.hpp"
#include "support/result_matchers.hpp"

namespace cloche::tar {
namespace {

using namespace testing_support;  // the matchers, and tar_file and the like

struct Read {
  Status status;
  std::vector<Entry> entries;
  std::vector<std::string> contents;
};

Read read_archive(std::string_view bytes, std::size_t piece = std::string_view::npos) {
  Read read;
  Reader reader;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto event = reader.next();
      if (!event) {
        read.status = fail(event.error());
        return read;
      }
      if (*event == Reader::Event::more) break;
      if (*event == Reader::Event::entry) {
        read.entries.push_back(reader.entry());
        read.contents.emplace_back();
      }
      if (*event == Reader::Event::data) read.contents.back() += reader.data();
    }
  }
  read.status = reader.finish();
  return read;
}

Entry only(const std::string& bytes) {
  const Read read = read_archive(bytes + tar_end());
  EXPECT_THAT(read.status, Succeeds());
  EXPECT_EQ(read.entries.size(), 1U);
  return read.entries.empty() ? Entry() : read.entries[0];
}

TEST(TarReader, FilesDirectoriesAndLinks_AreRead) {
  const Read read = read_archive(tar_directory("d/") + tar_file("d/f", "content", 0755) +
                                 tar_symlink("d/l", "/anywhere") + tar_hardlink("h", "./d/f") + tar_end());
  ASSERT_THAT(read.status, Succeeds());
  ASSERT_EQ(read.entries.size(), 4U);
  EXPECT_EQ(read.entries[0].type, EntryType::directory);
  EXPECT_EQ(read.entries[0].path, "d");
  EXPECT_EQ(read.entries[1].path, "d/f");
  EXPECT_EQ(read.entries[1].mode, 0755U);
  EXPECT_EQ(read.entries[1].mtime, 1'000'000'000);
  EXPECT_EQ(read.contents[1], "content");
  EXPECT_EQ(read.entries[2].link, "/anywhere");
  EXPECT_EQ(read.entries[3].type, EntryType::hardlink);
  EXPECT_EQ(read.entries[3].link, "d/f");
}

TEST(TarReader, AnySplitOfBytes_GivesTheSame) {
  const std::string archive = tar_extension('x', pax_record("path", std::string(300, 'p'))) +
                              tar_file("short", std::string(1500, 'c')) +
                              tar_extension('L', std::string(150, 'l') + '\0') + tar_file("x", "tail") + tar_end();
  for (const std::size_t piece : {1U, 7U, 511U, 512U, 513U, 100'000U}) {
    const Read read = read_archive(archive, piece);
    ASSERT_THAT(read.status, Succeeds()) << piece;
    ASSERT_EQ(read.entries.size(), 2U);
    EXPECT_EQ(read.entries[0].path, std::string(300, 'p'));
    EXPECT_EQ(read.contents[0], std::string(1500, 'c'));
    EXPECT_EQ(read.entries[1].path, std::string(150, 'l'));
    EXPECT_EQ(read.contents[1], "tail");
  }
}

TEST(TarReader, CutAnywhere_IsAnError) {
  const std::string archive =
      tar_extension('x', pax_record("path", "p")) + tar_file("short", std::string(600, 'c')) + tar_end();
  // All but the last of the two zero blocks is needed.
  for (std::size_t size = 0; size < archive.size() - 512; ++size) {
    ASSERT_THAT(read_archive(archive.substr(0, size)).status, FailsWith(ErrorCode::invalid_argument)) << size;
  }
  EXPECT_THAT(read_archive(archive.substr(0, archive.size() - 512)).status, Succeeds());
}

TEST(TarReader, WhatFollowsTheEnd_IsIgnored) {
  EXPECT_EQ(read_archive(tar_file("f", "x") + tar_end() + std::string(5000, 'j'), 100).entries.size(), 1U);
}

TEST(TarReader, EntryAfterLoneZeroBlock_IsRefused) {
  EXPECT_THAT(read_archive(std::string(512, '\0') + tar_file("f", "x") + tar_end()).status,
              FailsWith(ErrorCode::invalid_argument));
}

TEST(TarReader, WrongChecksum_IsRefused) {
  std::string archive = tar_file("f", "x") + tar_end();
  archive[0] ^= 1;
  EXPECT_THAT(read_archive(archive).status, FailsSaying(ErrorCode::invalid_argument, "checksum"));
  EXPECT_THAT(read_archive(std::string(2000, 'x')).status, FailsSaying(ErrorCode::invalid_argument, "checksum"));
}

TEST(TarReader, NamesThatLeadOut_AreRefusedAndNamed) {
  for (const char* name : {"/etc/passwd", "../f", "a/../../f", "a/..", "..", "//f"}) {
    EXPECT_THAT(read_archive(tar_file(name, "x")).status,
                FailsSaying(ErrorCode::invalid_argument, "archive entry `" + std::string(name)))
        << name;
    EXPECT_THAT(read_archive(tar_directory(name)).status, FailsWith(ErrorCode::invalid_argument)) << name;
    EXPECT_THAT(read_archive(tar_hardlink("h", name)).status, FailsWith(ErrorCode::invalid_argument)) << name;
    EXPECT_THAT(read_archive(tar_extension('x', pax_record("path", name)) + tar_file("f", "x")).status,
                FailsWith(ErrorCode::invalid_argument))
        << name;
    EXPECT_THAT(read_archive(tar_extension('L', name) + tar_file("f", "x")).status,
                FailsWith(ErrorCode::invalid_argument))
        << name;
  }
  EXPECT_THAT(read_archive(tar_extension('x', pax_record("path", std::string("a\0b", 3))) + tar_file("f", "x")).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(read_archive(TarBlock{.name = "f", .prefix = ".."}.bytes()).status,
              FailsWith(ErrorCode::invalid_argument));
}

TEST(TarReader, Names_AreTidied) {
  EXPECT_EQ(only(tar_file("./a//b/./c", "")).path, "a/b/c");
  EXPECT_EQ(only(tar_directory("./")).path, "");
  EXPECT_EQ(only(tar_file("..a/b..", "")).path, "..a/b..");
  EXPECT_THAT(read_archive(tar_file("./", "x") + tar_end()).status, FailsWith(ErrorCode::invalid_argument));
}

TEST(TarReader, WhatIsNoFile_IsRefused) {
  for (const char type : {'3', '4', '6', 'S', 'D', 'M', 'V', 'Z'}) {
    EXPECT_THAT(read_archive(TarBlock{.name = "f", .type = type}.bytes()).status, FailsWith(ErrorCode::unsupported))
        << type;
  }
  EXPECT_THAT(read_archive(tar_extension('x', pax_record("GNU.sparse.major", "1")) + tar_file("f", "x")).status,
              FailsWith(ErrorCode::unsupported));
  EXPECT_THAT(read_archive(TarBlock{.name = "d", .type = '5', .size = 10}.bytes()).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(read_archive(tar_symlink("l", "")).status, FailsWith(ErrorCode::invalid_argument));
}

TEST(TarReader, SpecialModeBits_AreDropped) { EXPECT_EQ(only(tar_file("f", "", 07755)).mode, 0755U); }

TEST(TarReader, PaxRecords_GoBeforeTheHeader) {
  const std::string records = pax_record("path", "long/name") + pax_record("size", "3") + pax_record("mtime", "12.25") +
                              pax_record("uid", "7") + pax_record("SCHILY.xattr.user.x", "y");
  const Read read = read_archive(tar_extension('x', records) + tar_file("short", "abc").substr(0, 1024) +
                                 tar_file("next", "n") + tar_end());
  ASSERT_THAT(read.status, Succeeds());
  EXPECT_EQ(read.entries[0].path, "long/name");
  EXPECT_EQ(read.contents[0], "abc");
  EXPECT_EQ(read.entries[0].mtime, 12);
  EXPECT_EQ(read.entries[0].mtime_ns, 250'000'000U);
  EXPECT_EQ(read.entries[1].path, "next");
  EXPECT_EQ(read.entries[1].mtime_ns, 0U);
}

TEST(TarReader, PaxTimeBeforeTheEpoch_IsRead) {
  const auto entry = only(tar_extension('x', pax_record("mtime", "-1.25")) + tar_file("f", ""));
  EXPECT_EQ(entry.mtime, -2);
  EXPECT_EQ(entry.mtime_ns, 750'000'000U);
}

TEST(TarReader, MalformedPax_IsRefused) {
  for (const char* records : {"x", "5 a=b", "999 path=x\n", "0 a=b\n", "3 a\n", "6 =b=c\n", "11 path=abcd", "-7 a=b\n",
                              "12 size=-4\n\n", "10 size=x\n", "29 size=99999999999999999999\n", "11 mtime=x\n"}) {
    EXPECT_THAT(read_archive(tar_extension('x', records) + tar_file("f", "")).status,
                FailsWith(ErrorCode::invalid_argument))
        << records;
  }
}

TEST(TarReader, GlobalPax_IsIgnored) {
  EXPECT_EQ(only(tar_extension('g', pax_record("path", "/evil")) + tar_file("f", "")).path, "f");
}

TEST(TarReader, HugeExtension_IsRefusedBeforeItIsRead) {
  EXPECT_THAT(read_archive(TarBlock{.name = "x", .type = 'x', .size = 2'000'000}.bytes()).status,
              FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(read_archive(TarBlock{.name = "x", .type = 'L', .size = 8'000'000'000}.bytes()).status,
              FailsWith(ErrorCode::limit_reached));
}

TEST(TarReader, Base256Size_IsRead_NegativeIsRefused) {
  std::string size(12, '\0');
  size[0] = '\x80';
  size[7] = '\x03';  // 3 << 32
  Reader reader;
  const std::string block = TarBlock{.name = "big", .size_text = size}.bytes();
  reader.feed(block);
  ASSERT_EQ(reader.next().value(), Reader::Event::entry);
  EXPECT_EQ(reader.entry().size, 3ULL << 32);
  EXPECT_THAT(read_archive(TarBlock{.name = "f", .size_text = std::string(12, '\xff')}.bytes()).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(read_archive(TarBlock{.name = "f", .size_text = "\x80" + std::string(11, '\xff')}.bytes()).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(read_archive(TarBlock{.name = "f", .size_text = "00000000009x"}.bytes()).status,
              FailsWith(ErrorCode::invalid_argument));
}

TEST(TarReader, OldForms_AreRead) {
  EXPECT_EQ(only(TarBlock{.name = "d/", .type = '\0', .magic = std::string(8, '\0')}.bytes()).type,
            EntryType::directory);
  EXPECT_EQ(only(TarBlock{.name = "f", .type = '\0', .magic = std::string(8, '\0')}.bytes()).type, EntryType::file);
  // GNU's magic: what looks like a prefix is something else.
  EXPECT_EQ(only(TarBlock{.name = "f", .prefix = "12345", .magic = std::string("ustar  \0", 8)}.bytes()).path, "f");
  EXPECT_EQ(only(TarBlock{.name = "f", .prefix = "a/b"}.bytes()).path, "a/b/f");
  // Some writers give hard links the size of their file, without content.
  EXPECT_EQ(only(TarBlock{.name = "h", .type = '1', .link = "f", .size = 1000}.bytes()).size, 0U);
}

}  // namespace
}  // namespace cloche::tar
