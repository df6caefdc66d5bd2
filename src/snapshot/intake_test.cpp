// What a sandbox's agent may send as an archive, and what becomes of it.
#include "snapshot/intake.hpp"

#include <gtest/gtest.h>

#include <set>

#include "archive/testing/tar_bytes.hpp"
#include "snapshot/manifest.hpp"
#include "support/result_matchers.hpp"

namespace cloche::snapshot {
namespace {

using namespace testing_support;  // tar_file and the like

struct TakenIn {
  Status status;
  std::vector<std::string> pieces;
  IntakeCounts counts;

  std::string stream() const {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    return all;
  }
};

constexpr IntakeLimits usual_limits{.content = mib(64), .entries = 100};

TakenIn take_in(const std::string& archive, IntakeLimits limits = usual_limits, std::vector<std::string> excluded = {},
                std::size_t step = 1000) {
  TakenIn taken;
  Intake intake(limits, taken.counts, std::move(excluded), [&](std::string_view piece) {
    taken.pieces.emplace_back(piece);
    return Status();
  });
  for (std::size_t at = 0; at < archive.size() && taken.status; at += step) {
    const std::string part = archive.substr(at, step);
    taken.status = intake.feed(part);
  }
  if (taken.status) taken.status = intake.finish();
  return taken;
}

struct Unpacked {
  std::vector<tar::Entry> entries;
  std::string content;
};

Unpacked read_back(const std::string& archive) {
  Unpacked read;
  tar::Reader reader;
  reader.feed(archive);
  for (;;) {
    const auto event = reader.next();
    EXPECT_TRUE(event) << event.error().message;
    if (!event || *event == tar::Reader::Event::more) break;
    if (*event == tar::Reader::Event::entry) read.entries.push_back(reader.entry());
    if (*event == tar::Reader::Event::data) read.content += reader.data();
  }
  EXPECT_THAT(reader.finish(), Succeeds());
  return read;
}

TEST(Intake, FilesDirectoriesAndLinks_KeepNamesModesAndTimes) {
  const auto taken =
      take_in(tar_directory("./") + tar_directory("d/", 0750) + tar_file("d/f", "content", 0600) +
              tar_symlink("l", "/etc/passwd") + tar_directory("empty/") + tar_file("zero", "") + tar_end());
  ASSERT_THAT(taken.status, Succeeds());
  EXPECT_EQ(taken.counts.entries, 5U);
  EXPECT_EQ(taken.counts.content, 7U);
  const Unpacked read = read_back(taken.stream());
  ASSERT_EQ(read.entries.size(), 5U);
  EXPECT_EQ(read.entries[0].path, "d");
  EXPECT_EQ(read.entries[0].mode, 0750U);
  EXPECT_EQ(read.entries[1].path, "d/f");
  EXPECT_EQ(read.entries[1].mode, 0600U);
  EXPECT_EQ(read.entries[1].mtime, 1'000'000'000);
  EXPECT_EQ(read.entries[2].link, "/etc/passwd");
  EXPECT_EQ(read.entries[3].type, tar::EntryType::directory);
  EXPECT_EQ(read.content, "content");
}

TEST(Intake, WhereTheStreamIsSplit_ChangesNothing) {
  std::string archive;
  for (int i = 0; i < 50; ++i) archive += tar_file("f" + std::to_string(i), std::string(i * 100, 'x'));
  archive += tar_file("large", std::string(3'000'000, 'y')) + tar_end();
  const auto whole = take_in(archive, usual_limits, {}, archive.size());
  ASSERT_THAT(whole.status, Succeeds());
  for (const std::size_t step : {std::size_t{1}, std::size_t{511}, std::size_t{65536}}) {
    EXPECT_EQ(take_in(archive, usual_limits, {}, step).pieces, whole.pieces);
  }
}

TEST(Intake, Pieces_AreBounded_AndLargeFilesHaveTheirOwn) {
  const auto taken = take_in(tar_file("a", "small") + tar_file("large", std::string(2'500'000, 'y')) + tar_end());
  ASSERT_THAT(taken.status, Succeeds());
  ASSERT_EQ(taken.pieces.size(), 5U);
  EXPECT_EQ(taken.pieces[1], std::string(most_of_piece, 'y'));
  EXPECT_EQ(taken.pieces[2], taken.pieces[1]);
  EXPECT_EQ(taken.pieces[3], std::string(2'500'000 - 2 * most_of_piece, 'y'));
  for (const std::string& piece : taken.pieces) EXPECT_LE(piece.size(), most_of_piece);
}

TEST(Intake, FileMoreAtTheFront_LeavesMostPiecesAsTheyWere) {
  std::string archive;
  for (int i = 0; i < 3000; ++i) archive += tar_file("name-" + std::to_string(i), std::to_string(i));
  const IntakeLimits limits{.content = mib(64), .entries = 10'000};
  const auto before = take_in(archive + tar_end(), limits, {}, archive.size());
  const auto after = take_in(tar_file("new", "new") + archive + tar_end(), limits, {}, archive.size());
  const std::set<std::string> known(before.pieces.begin(), before.pieces.end());
  const auto is_new = [&](const std::string& piece) { return !known.contains(piece); };
  EXPECT_GT(before.pieces.size(), 20U);
  EXPECT_LE(std::ranges::count_if(after.pieces, is_new), 2);
}

TEST(Intake, WhatAnAgentMustNotSend_IsRefused) {
  const std::string good = tar_file("f", "x");
  for (const std::string& bad :
       {good + tar_file("../x", "x"), good + tar_file("/x", "x"), good + TarBlock{.name = "n", .type = '3'}.bytes(),
        good + TarBlock{.name = "n", .type = '4'}.bytes(), good + TarBlock{.name = "n", .type = '6'}.bytes(),
        good + tar_hardlink("h", "f"), good + tar_hardlink("h", "../f"), good + std::string(512, 'x'),
        good + tar_extension('x', pax_record("path", "a/../../b")) + tar_file("f", ""),
        good + tar_extension('x', pax_record("path", std::string(70'000, 'p'))) + tar_file("f", ""),
        good + tar_extension('x', pax_record("linkpath", std::string(5000, 'p'))) + tar_symlink("l", "t")}) {
    EXPECT_THAT(take_in(bad + tar_end()).status, FailsWith(ErrorCode::protocol));
  }
  // Cut off, also in the middle of a file.
  EXPECT_THAT(take_in(good).status, FailsWith(ErrorCode::protocol));
  EXPECT_THAT(take_in("").status, FailsWith(ErrorCode::protocol));
  EXPECT_THAT(take_in(TarBlock{.name = "f", .size = 600}.bytes() + "x").status, FailsWith(ErrorCode::protocol));
}

TEST(Intake, SizeThatAHeaderSays_IsRefusedBeforeItsContentComes) {
  const auto taken = take_in(TarBlock{.name = "sparse", .size = std::uint64_t{1} << 32}.bytes());
  EXPECT_THAT(taken.status, FailsSaying(ErrorCode::limit_reached, "64"));
  // Also one that would overflow.
  EXPECT_THAT(
      take_in(tar_file("a", "x") + tar_extension('x', pax_record("size", "9223372036854775807")) + tar_file("b", ""))
          .status,
      FailsWith(ErrorCode::limit_reached));
}

TEST(Intake, MoreEntriesThanAllowed_AreRefused) {
  std::string archive;
  for (int i = 0; i < 101; ++i) archive += tar_directory("d" + std::to_string(i));
  EXPECT_THAT(take_in(archive + tar_end()).status, FailsSaying(ErrorCode::limit_reached, "100"));
}

TEST(Intake, ExcludedPaths_AreLeftOutWithAllBelowThem) {
  const IntakeLimits small{.content = Bytes{10}, .entries = 3};
  const auto taken =
      take_in(tar_directory("data") + tar_file("data/large", std::string(100'000, 'x')) + tar_file("data2", "kept") +
                  tar_directory("sub") + tar_symlink("sub/data", "x") + tar_end(),
              small, {"data"});
  ASSERT_THAT(taken.status, Succeeds());
  const Unpacked read = read_back(taken.stream());
  ASSERT_EQ(read.entries.size(), 3U);
  EXPECT_EQ(read.entries[0].path, "data2");
  EXPECT_EQ(read.entries[2].path, "sub/data");
  EXPECT_EQ(read.content, "kept");
}

}  // namespace
}  // namespace cloche::snapshot
