#include "agent/files/operations/attributes.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using wire::FileOp;
using wire::FileType;

class AttributesTest : public BothWays {
 protected:
  void SetUp() override {
    put("probe");
    if (::setxattr(at("probe").c_str(), "user.probe", "", 0, 0) != 0)
      CLOCHE_CANNOT_TEST("user xattrs", "the file system of TMPDIR has no extended attributes");
  }
  wire::FileRequest write_with(std::string_view path, wire::TextMap attributes) const {
    auto request = beneath(FileOp::write, path);
    request.attributes = std::move(attributes);
    return request;
  }
  wire::FileEntry details_of(std::string_view path, bool follow = false) const {
    auto request = beneath(FileOp::stat, path);
    request.details = true;
    request.follow = follow;
    const Answer answer = run(request);
    EXPECT_THAT(answer.status, Succeeds());
    return answer.entries().empty() ? wire::FileEntry{} : answer.entries().front();
  }
};

TEST_P(AttributesTest, WrittenWithAFile_AreToldOfIt) {
  ASSERT_THAT(run(write_with("f", {{"user.a", "one"}, {"user.e2b.b", std::string("\0\xff", 2)}}), "x").status,
              Succeeds());
  EXPECT_THAT(details_of("f").attributes,
              ElementsAre(Pair("user.a", "one"), Pair("user.e2b.b", std::string("\0\xff", 2))));
  EXPECT_THAT(details_of("f", true).attributes.size(), 2U);
  auto plain = beneath(FileOp::stat, "f");
  EXPECT_THAT(run(plain).entries().front().attributes, IsEmpty());
}

TEST_P(AttributesTest, ListAndGlob_TellThemOnRequest) {
  make("d");
  ASSERT_THAT(run(write_with("d/f", {{"user.a", "1"}}), "x").status, Succeeds());
  auto list = beneath(FileOp::list, ".");
  list.recursive = true;
  list.details = true;
  for (const auto& entry : run(list).entries()) {
    const bool is_it = entry.path == "d/f";
    EXPECT_EQ(entry.attributes.contains("user.a"), is_it) << entry.path;
  }
  auto glob = beneath(FileOp::glob, ".");
  glob.pattern = "d/f";
  glob.details = true;
  ASSERT_EQ(run(glob).entries().size(), 1U);
  EXPECT_THAT(run(glob).entries().front().attributes, ElementsAre(Pair("user.a", "1")));
  auto one = beneath(FileOp::glob, "d/f");
  one.pattern = "*";
  one.details = true;
  ASSERT_EQ(run(one).entries().size(), 1U);
  EXPECT_EQ(run(one).entries().front().attributes.size(), 1U);
}

TEST_P(AttributesTest, ReplacedFile_HasOnlyTheNewOnes) {
  ASSERT_THAT(run(write_with("f", {{"user.old", "1"}}), "x").status, Succeeds());
  ASSERT_THAT(run(write_with("f", {{"user.new", "2"}}), "y").status, Succeeds());
  EXPECT_THAT(details_of("f").attributes, ElementsAre(Pair("user.new", "2")));
}

TEST_P(AttributesTest, Append_AddsToThoseThatThereAre) {
  ASSERT_THAT(run(write_with("f", {{"user.old", "1"}}), "x").status, Succeeds());
  auto append = write_with("f", {{"user.new", "2"}});
  append.append = true;
  ASSERT_THAT(run(append, "y").status, Succeeds());
  EXPECT_EQ(details_of("f").attributes.size(), 2U);
  EXPECT_EQ(get("f"), "xy");
}

TEST_P(AttributesTest, OtherNames_AreRefusedAndLeaveNoFile) {
  for (const std::string& name :
       {std::string("trusted.a"), std::string("security.a"), std::string("user."), std::string("a"), std::string(),
        std::string("user.a\0b", 8), "user." + std::string(251, 'n')}) {
    EXPECT_THAT(run(write_with("f", {{name, "1"}}), "x").status, FailsWith(ErrorCode::invalid_argument)) << name;
  }
  EXPECT_FALSE(exists("f"));
}

TEST_P(AttributesTest, TooManyOrTooLarge_AreRefused) {
  wire::TextMap many;
  for (std::size_t i = 0; i <= wire::most_attributes; ++i) many["user." + std::to_string(i)] = "";
  EXPECT_THAT(run(write_with("f", many), "x").status, FailsWith(ErrorCode::limit_reached));
  const wire::TextMap large{{"user.a", std::string(wire::most_attribute_bytes, 'v')}};
  EXPECT_THAT(run(write_with("f", large), "x").status, FailsWith(ErrorCode::limit_reached));
  EXPECT_FALSE(exists("f"));
}

TEST_P(AttributesTest, MoreThanCanBeTold_AreNotTold) {
  put("f");
  for (std::size_t i = 0; i <= wire::most_attributes; ++i) {
    const std::string name = "user." + std::to_string(i);
    ASSERT_EQ(::setxattr(at("f").c_str(), name.c_str(), "", 0, 0), 0);
  }
  EXPECT_THAT(details_of("f").attributes, IsEmpty());
}

TEST_P(AttributesTest, FileSystemWithoutThem_SaysUnsupported) {
  // procfs has none; a descriptor of it stands for any such file.
  const UniqueFd file(::open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
  EXPECT_THAT(set_attributes(file.get(), {{"user.a", "1"}}), FailsWith(ErrorCode::unsupported));
  EXPECT_THAT(read_attributes(file.get()), IsEmpty());
}

TEST_P(AttributesTest, FileThatTheUserCannotRead_ShowsNone) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  ASSERT_THAT(run(write_with("f", {{"user.secret", "1"}}), "x").status, Succeeds());
  ASSERT_EQ(::chown(at("f").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(at("f").c_str(), 0600), 0);
  auto request = beneath(FileOp::stat, "f");
  request.details = true;
  const Answer answer = run_as_user(request);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(answer.entries().front().attributes, IsEmpty());
}

TEST_P(AttributesTest, Links_TellWhereTheyLead) {
  make("d");
  put("d/f", "x");
  ASSERT_EQ(::chmod(at("d/f").c_str(), 0640), 0);
  link("second", "first");
  link("d/f", "second");
  link("nowhere", "dangling");
  link("d", "directory");
  const auto entry = details_of("first");
  EXPECT_EQ(entry.type, FileType::symlink);
  EXPECT_EQ(entry.resolved, at("d/f"));
  EXPECT_EQ(entry.target_type, FileType::regular);
  EXPECT_EQ(entry.target_mode, 0640U);
  EXPECT_EQ(details_of("directory").target_type, FileType::directory);
  EXPECT_EQ(details_of("dangling").resolved, "");
  EXPECT_EQ(details_of("dangling").target_type, FileType::other);
  EXPECT_EQ(details_of("d/f").resolved, "");
}

TEST_P(AttributesTest, LinkOutOfTheRoot_LeadsNowhere) {
  link("/etc/passwd", "absolute");
  EXPECT_EQ(details_of("absolute").resolved, "");
  wire::FileRequest anywhere{.op = FileOp::stat, .path = at("absolute")};
  anywhere.details = true;
  anywhere.follow = false;
  EXPECT_EQ(run(anywhere).entries().front().resolved, "/etc/passwd");
}

TEST_P(AttributesTest, LinkIntoTheKernelsFiles_LeadsNowhereWhereTheseAreRefused) {
  link("/proc/version", "link");
  wire::FileRequest request{.op = FileOp::stat, .path = at("link")};
  request.details = true;
  request.follow = false;
  request.no_kernel_files = true;
  EXPECT_EQ(run(request).entries().front().resolved, "");
}

TEST_P(AttributesTest, ListOfSoManyLevels_StopsThere) {
  make("a");
  make("a/b");
  make("a/b/c");
  auto list = beneath(FileOp::list, ".");
  list.recursive = true;
  list.depth = 2;
  EXPECT_THAT(run(list).paths(), ElementsAre("a", "a/b", "probe"));
}

CLOCHE_BOTH_WAYS(AttributesTest);

}  // namespace
}  // namespace cloche::agent::testing
