// Copies: which ends they have, what is packed, and what a hostile archive cannot do to this host.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "archive/testing/tar_bytes.hpp"
#include "cli/copy/copy_place.hpp"
#include "cli/copy/packer.hpp"
#include "cli/copy/unarchive.hpp"
#include "core/ids.hpp"

namespace cloche::cli {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(CopyPlace, WhatStandsBeforeAColon_IsASession) {
  EXPECT_EQ(parse_copy_place("demo:a/b").session, "demo");
  EXPECT_EQ(parse_copy_place("demo:a/b").path, "a/b");
  EXPECT_EQ(parse_copy_place("demo:").path, ".");
  EXPECT_EQ(parse_copy_place("demo:a:b").path, "a:b");
  EXPECT_FALSE(parse_copy_place("./a:b").session);
  EXPECT_FALSE(parse_copy_place(":a").session);
  EXPECT_TRUE(parse_copy_place("-").is_stream());
}

TEST(CopyPlace, OneEndIsHere_AndTheOtherInASession) {
  EXPECT_EQ(plan_copy("a", "demo:b").value().way, CopyArguments::Way::up);
  EXPECT_EQ(plan_copy("demo:b", "-").value().way, CopyArguments::Way::down);
  EXPECT_EQ(plan_copy("demo:/workspace/a", "b").value().remote.path, "a");
  EXPECT_EQ(plan_copy("demo:/workspace", "b").value().remote.path, ".");
  for (const auto& [from, to] :
       {std::pair{"a", "b"}, {"x:a", "y:b"}, {"", "x:a"}, {"x:/etc/passwd", "b"}, {"x:/workspaces/a", "b"}}) {
    EXPECT_FALSE(plan_copy(from, to)) << from << " " << to;
  }
}

TEST(CopyPlace, Names_AreTakenOffPaths) {
  EXPECT_EQ(last_name("a/b/"), "b");
  EXPECT_EQ(last_name("a/."), "");
  EXPECT_EQ(last_name(".."), "");
  EXPECT_EQ(last_name("/"), "");
  EXPECT_EQ(joined(".", "a"), "a");
  EXPECT_EQ(joined("d/", "a"), "d/a");
}

TEST(StaysInside, OnlyLinksThatCannotLeadOut) {
  EXPECT_TRUE(stays_inside("a", "b"));
  EXPECT_TRUE(stays_inside("d/a", "../b"));
  EXPECT_TRUE(stays_inside("d/a", "./c//b"));
  EXPECT_FALSE(stays_inside("a", "../b"));
  EXPECT_FALSE(stays_inside("d/a", "../../b"));
  EXPECT_FALSE(stays_inside("a", "/etc/passwd"));
  EXPECT_FALSE(stays_inside("a", ""));
  EXPECT_FALSE(stays_inside("d/a", "x/../../b")) << "x may be a link to somewhere else";
}

class Copies : public testing::Test {
 public:
  Copies() { fs::create_directories(root_); }
  ~Copies() override { fs::remove_all(root_); }

 protected:
  std::string at(const std::string& name) const { return root_ / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names(const std::string& below = "") const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(at(below))) all.push_back(entry.path().filename());
    return all;
  }
  unsigned mode_of(const std::string& name) const {
    struct stat status = {};
    EXPECT_EQ(::lstat(at(name).c_str(), &status), 0) << name;
    return status.st_mode & 07777;
  }

  static std::string pack(Packer& packer) {
    std::string archive;
    for (;;) {
      auto piece = packer.next();
      EXPECT_TRUE(piece) << piece.error().message;
      if (!piece || piece->empty()) return archive;
      archive += *piece;
    }
  }
  // In pieces of odd size.
  static Status take(Unarchive& into, std::string_view archive) {
    constexpr std::size_t piece = 777;
    while (!archive.empty()) {
      CLOCHE_CHECK(into.take(archive.substr(0, piece)));
      archive.remove_prefix(std::min(piece, archive.size()));
    }
    return {};
  }
  Status unpack(const std::string& archive, const std::string& to) const {
    CLOCHE_TRY(const auto into, Unarchive::into_directory(at(to)));
    CLOCHE_CHECK(take(*into, archive));
    return into->finish();
  }

  fs::path root_ = fs::temp_directory_path() / ("cloche-copy-" + random_hex(8));
};

TEST_F(Copies, Tree_ComesOutAsItWentIn) {
  write("from/a.txt", "alpha");
  write("from/sub/deep/b.bin", std::string("\0\xff", 2) + std::string(100'000, 'b'));
  write("from/empty", "");
  fs::create_directories(at("from/hollow"));
  fs::create_symlink("sub/deep/b.bin", at("from/link"));
  fs::permissions(at("from/a.txt"), fs::perms(0750));
  ASSERT_EQ(::mkfifo(at("from/pipe").c_str(), 0600), 0);
  auto packer = Packer::open(at("from"), "");
  ASSERT_TRUE(packer) << packer.error().message;
  EXPECT_EQ(packer->left_out(), 1u);
  EXPECT_EQ(packer->total(), 100'007u);
  const std::string archive = pack(*packer);
  EXPECT_EQ(packer->done(), packer->total());
  const auto unpacked = unpack(archive, "to");
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(read("to/a.txt"), "alpha");
  EXPECT_EQ(read("to/sub/deep/b.bin"), read("from/sub/deep/b.bin"));
  EXPECT_TRUE(fs::is_directory(at("to/hollow")));
  EXPECT_EQ(fs::read_symlink(at("to/link")), "sub/deep/b.bin");
  EXPECT_EQ(mode_of("to/a.txt"), 0750u);
  EXPECT_THAT(names(), UnorderedElementsAre("from", "to")) << "nothing hidden is left";
}

TEST_F(Copies, NameInTheArchive_StandsBeforeAll) {
  write("from/a", "x");
  auto packer = Packer::open(at("from"), "dir/copy");
  ASSERT_TRUE(packer) << packer.error().message;
  ASSERT_TRUE(unpack(pack(*packer), "to"));
  EXPECT_EQ(read("to/dir/copy/a"), "x");
}

TEST_F(Copies, HugeSparseFile_IsRefusedBeforeAnythingIsSent) {
  write("big", "");
  fs::resize_file(at("big"), std::uintmax_t{1} << 40);
  const auto packer = Packer::open(at("big"), "big");
  ASSERT_FALSE(packer);
  EXPECT_THAT(packer.error().message, HasSubstr("256 MiB"));
}

TEST_F(Copies, FileThatShrinksMeanwhile_IsNoCopy) {
  write("a", std::string(300'000, 'x'));
  auto packer = Packer::open(at("a"), "a");
  ASSERT_TRUE(packer);
  ASSERT_TRUE(packer->next());
  fs::resize_file(at("a"), 100'000);
  Result<std::string> piece = std::string("x");
  while (piece && !piece->empty()) piece = packer->next();
  ASSERT_FALSE(piece);
  EXPECT_THAT(piece.error().message, HasSubstr("was truncated"));
}

TEST_F(Copies, Fifo_IsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Packer::open(at("pipe"), "pipe"));
}

TEST_F(Copies, HostileArchives_WriteNothingOutside) {
  write("outside", "mine");
  const std::string end = tar_end();
  for (const std::string& archive :
       {tar_file("../outside", "evil") + end, tar_file("/" + at("outside"), "evil") + end,
        tar_file("a/../../outside", "evil") + end, tar_symlink("l", "..") + tar_file("l/outside", "evil") + end,
        tar_symlink("l", at("")) + tar_file("l/outside", "evil") + end,
        tar_symlink("d", ".") + tar_symlink("d/e", "..") + end, tar_hardlink("h", "../outside") + end,
        tar_hardlink("h", at("outside")) + end,
        tar_file("a", "x") + tar_hardlink("h", "a") + tar_file("h", "evil") + end,
        TarBlock{.name = "dev", .type = '3'}.bytes() + end}) {
    const auto unpacked = unpack(archive, "to");
    EXPECT_FALSE(unpacked);
    EXPECT_EQ(read("outside"), "mine");
    EXPECT_THAT(names(), ElementsAre("outside"));
  }
}

TEST_F(Copies, LinksThatLeadOut_AreLeftOutAndTold) {
  const std::string archive = tar_symlink("passwd", "/etc/passwd") + tar_symlink("up", "../outside") +
                              tar_symlink("in", "a") + tar_file("a", "x") + tar_end();
  const auto into = Unarchive::into_directory(at("to"));
  ASSERT_TRUE(into);
  ASSERT_TRUE(take(**into, archive));
  ASSERT_TRUE((*into)->finish());
  EXPECT_THAT((*into)->left_out(), ElementsAre("passwd", "up"));
  EXPECT_THAT(names("to"), UnorderedElementsAre("in", "a"));
}

TEST_F(Copies, LinksWithoutEnd_AreRefusedBeforeTheyFillTheMemory) {
  const auto into = Unarchive::into_directory(at("to"));
  ASSERT_TRUE(into);
  const std::string link = tar_symlink("passwd", "/etc/passwd");
  Status taken;
  std::size_t count = 0;
  while (taken && ++count < 1'000'000) taken = (*into)->take(link);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("exceeds the number of links that a workspace can have"));
  EXPECT_EQ((*into)->left_out().size(), 100'000u);
}

TEST_F(Copies, SetUidAndForbiddenBits_StayBehind) {
  const mode_t before = ::umask(027);
  const auto unpacked = unpack(tar_file("a", "x", 06777) + tar_directory("d", 0777) + tar_end(), "to");
  ::umask(before);
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(mode_of("to/a"), 0750u);
  EXPECT_EQ(mode_of("to/d"), 0750u);
  EXPECT_EQ(mode_of("to"), 0750u);
}

TEST_F(Copies, CutArchive_LeavesNothing) {
  const std::string whole = tar_file("a", std::string(2000, 'x')) + tar_file("b", "y") + tar_end();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, std::size_t{1000}, std::size_t{2560}, whole.size() - 1024}) {
    EXPECT_FALSE(unpack(whole.substr(0, size), "to")) << size;
    EXPECT_THAT(names(), IsEmpty()) << size;
  }
}

TEST_F(Copies, DirectoryThatIsThere_IsMergedIntoAndItsLinksAreNotFollowed) {
  write("to/old", "old");
  write("to/a", "before");
  write("victim/a", "mine");
  fs::create_directory_symlink(at("victim"), at("to/d"));
  EXPECT_FALSE(unpack(tar_directory("d") + tar_file("d/a", "evil") + tar_end(), "to"));
  EXPECT_EQ(read("victim/a"), "mine");
  EXPECT_EQ(read("to/a"), "before");
  ASSERT_TRUE(unpack(tar_file("a", "new") + tar_end(), "to"));
  EXPECT_EQ(read("to/a"), "new");
  EXPECT_THAT(names("to"), UnorderedElementsAre("old", "a", "d"));
}

TEST_F(Copies, OneFile_TakesTheNameThatWasAsked) {
  write("victim", "mine");
  fs::create_symlink(at("victim"), at("place"));
  auto into = Unarchive::into_file(at("place"));
  ASSERT_TRUE(into);
  ASSERT_TRUE(take(**into, tar_file("remote-name", "new", 0755) + tar_end()));
  EXPECT_EQ(read("victim"), "mine");
  ASSERT_TRUE((*into)->finish());
  into->reset();
  EXPECT_EQ(read("place"), "new");
  EXPECT_FALSE(fs::is_symlink(at("place")));
  EXPECT_EQ(read("victim"), "mine");
  EXPECT_THAT(names(), UnorderedElementsAre("victim", "place"));
}

TEST_F(Copies, MoreThanTheOneFile_IsRefused) {
  for (const std::string& archive : {tar_file("a", "x") + tar_file("b", "y"), tar_directory("d"), tar_file("d/a", "x"),
                                     tar_symlink("a", "b"), std::string()}) {
    const auto into = Unarchive::into_file(at("place"));
    ASSERT_TRUE(into);
    const auto taken = take(**into, archive + tar_end());
    EXPECT_FALSE(taken && (*into)->finish());
  }
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace cloche::cli
