#include "backend/docker/image/agent_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/ids.hpp"

namespace cloche::docker {
namespace {

const AgentProgram agent{std::string("\x7f"
                                     "ELF agent\0\1",
                                     12),
                         "aaaa"};

TEST(AgentArchive, Entries_AreTheAgentAndTheMountPoints) {
  const ImageAdditions additions{{{"python", "/usr/bin/python3"}}, "root:x:0:0::/:/bin/sh\n", "root:x:0:\n"};
  const auto bytes = make_archive(agent, {"/home/me/work", 1234, 2345}, additions);
  ASSERT_TRUE(bytes);
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(), &archive_read_free);
  archive_read_support_format_tar(reader.get());
  ASSERT_EQ(archive_read_open_memory(reader.get(), bytes->data(), bytes->size()), ARCHIVE_OK);
  std::map<std::string, std::string> seen;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
    char text[128];
    std::snprintf(text, sizeof text, "%o %d:%d", archive_entry_mode(entry), static_cast<int>(archive_entry_uid(entry)),
                  static_cast<int>(archive_entry_gid(entry)));
    std::string path = archive_entry_pathname(entry);
    while (path.ends_with('/')) path.pop_back();
    seen[path] = text;
    if (path == ".cloche/bin/python") {
      EXPECT_STREQ(archive_entry_symlink(entry), "/usr/bin/python3");
    }
    if (path == ".cloche/agent") {
      std::string content(64, '\0');
      content.resize(static_cast<std::size_t>(archive_read_data(reader.get(), content.data(), content.size())));
      EXPECT_EQ(content, agent.bytes);
    }
  }
  const std::map<std::string, std::string> expected = {
      {".cloche", "40755 0:0"},           {".cloche/agent", "100755 0:0"},
      {".cloche/bin", "40755 0:0"},       {".cloche/bin/python", "120777 0:0"},
      {"etc/passwd", "100644 0:0"},       {"tmp", "41777 0:0"},
      {"etc/group", "100644 0:0"},        {".cloche/bin/sudo", "120777 0:0"},
      {"home/me/work", "40755 1234:2345"}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(make_archive(agent, {"/home/me/work", 1234, 2345}, additions).value(), *bytes);
}

TEST(DerivedTag, AnythingThatDiffers_GivesAnotherTag) {
  const std::string base = "sha256:0123456789abcdef0123456789abcdef";
  const auto tag = derived_tag(base, agent, {"/w", 1, 1});
  EXPECT_EQ(tag.repository, "cloche/sandbox");
  EXPECT_TRUE(tag.tag.starts_with("0123456789ab-"));
  EXPECT_EQ(tag.tag.size(), 25u);
  EXPECT_EQ(derived_tag(base, agent, {"/w", 1, 1}).tag, tag.tag);
  EXPECT_NE(derived_tag("sha256:1123456789abcdef", agent, {"/w", 1, 1}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, AgentProgram{"", "bbbb"}, {"/w", 1, 1}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, agent, {"/v", 1, 1}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, agent, {"/w", 2, 1}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, agent, {"/w", 1, 1, {70'000, 2}}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, agent, {"/w", 1, 1, {0, 0}, "user"}).tag, tag.tag);
  EXPECT_NE(derived_tag(base, agent, {"/w", 1, 1, {0, 0}, "sandbox", true}).tag, tag.tag);
}

TEST(WithUsers, EachUid_HasAnEntryBehindThoseOfTheImage) {
  const ImageLayout layout{"/w", 1000, 1000, {70'000, 2}};
  const std::string ours = "sandbox:x:70000:1000:sandbox:/w:/bin/sh\nsandbox:x:70001:1000:sandbox:/w:/bin/sh\n";
  EXPECT_EQ(with_users("", layout), ours);
  EXPECT_EQ(with_users("root:x:0:0::/:/bin/sh", layout), "root:x:0:0::/:/bin/sh\n" + ours);
  EXPECT_EQ(with_users("", {"/a:b", 1000, 7, {70'000, 1}}), "sandbox:x:70000:7:sandbox:/:/bin/sh\n");
}

TEST(WithUsers, OneUid_HasItsNameUnlessTheImageHasOneForIt) {
  const std::string node = "node:x:1000:1000::/home/node:/bin/sh\n";
  EXPECT_EQ(with_users(node, {"/w", 1000, 1000}), node);
  EXPECT_EQ(with_users(node, {"/w", 1001, 1000}), "sandbox:x:1001:1000:sandbox:/w:/bin/sh\n" + node);
  EXPECT_EQ(with_users(node, {"/w", 1000, 1000, {0, 0}, "user"}), "user:x:1000:1000:user:/w:/bin/sh\n" + node);
}

TEST(LoadAgent, AbsentOrNoFile_IsRefusedByName) {
  const auto absent = load_agent("/nonexistent/agent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_NE(absent.error().message.find("/nonexistent/agent"), std::string::npos);
  EXPECT_FALSE(load_agent("/"));
  EXPECT_FALSE(load_agent("/dev/null"));
}

TEST(LoadAgent, File_IsReadWithItsChecksum) {
  const auto path = std::filesystem::temp_directory_path() / ("cloche-agent-" + random_hex(6));
  std::ofstream(path) << "abc";
  const auto loaded = load_agent(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->bytes, "abc");
  EXPECT_EQ((*loaded)->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace cloche::docker
