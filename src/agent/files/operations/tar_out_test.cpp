// Packing, and the way there and back, also by way of another's tar.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "agent/files/testing/file_tester.hpp"
#include "archive/tar_reader.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using wire::FileOp;
using TarOutTest = FileTest;

// Paths of an archive in order.
std::vector<std::string> paths_in(std::string_view archive) {
  std::vector<std::string> paths;
  tar::Reader reader;
  reader.feed(archive);
  for (auto event = reader.next(); event && *event != tar::Reader::Event::more && *event != tar::Reader::Event::end;
       event = reader.next()) {
    if (*event == tar::Reader::Event::entry) paths.push_back(reader.entry().path);
  }
  EXPECT_THAT(reader.finish(), Succeeds());
  return paths;
}

// All that a tree is but for its owners, a line an entry.
std::vector<std::string> tree_in(std::string_view archive) {
  std::vector<std::string> tree;
  tar::Reader reader;
  reader.feed(archive);
  for (auto event = reader.next(); event && *event != tar::Reader::Event::more && *event != tar::Reader::Event::end;
       event = reader.next()) {
    const tar::Entry& entry = reader.entry();
    if (*event == tar::Reader::Event::data) {
      tree.back() += reader.data();
    } else {
      tree.push_back(entry.path + " " + std::to_string(static_cast<int>(entry.type)) + " " +
                     std::to_string(entry.mode) + " " + std::to_string(entry.mtime) + " " + entry.link + " ");
    }
  }
  EXPECT_THAT(reader.finish(), Succeeds());
  return tree;
}

TEST_F(TarOutTest, Tree_IsPackedRelativeToItself) {
  make("d/sub");
  put("d/f", "content");
  put("d/sub/g", "g");
  link("../f", "d/sub/l");
  ASSERT_EQ(::mkfifo(at("d/fifo").c_str(), 0666), 0);
  const Answer answer = run(beneath(FileOp::tar_out, "d"));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(paths_in(answer.out), ElementsAre("f", "sub", "sub/g", "sub/l"));
  EXPECT_EQ(answer.last().files, 4U);
  EXPECT_EQ(answer.last().bytes, 8U);
  EXPECT_EQ(answer.last().skipped, 1U);
}

TEST_F(TarOutTest, File_IsPackedByItsName) {
  make("d");
  put("d/f", "content");
  EXPECT_THAT(paths_in(run(beneath(FileOp::tar_out, "d/f")).out), ElementsAre("f"));
  link("d/f", "l");
  EXPECT_THAT(paths_in(run(beneath(FileOp::tar_out, "l")).out), ElementsAre("l"));
}

TEST_F(TarOutTest, EmptyDirectory_IsAnEmptyArchive) {
  make("d");
  EXPECT_EQ(run(beneath(FileOp::tar_out, "d")).out, std::string(1024, '\0'));
}

TEST_F(TarOutTest, WhatCannotBeRead_IsAnError) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("d/sub");
  put("d/f", "content");
  ::chmod(at("d/f").c_str(), 0);
  EXPECT_THAT(run_as_user(beneath(FileOp::tar_out, "d")).status,
              FailsSaying(ErrorCode::permission_denied, "f: Permission denied"));
  ::chmod(at("d/f").c_str(), 0644);
  ::chmod(at("d/sub").c_str(), 0);
  EXPECT_THAT(run_as_user(beneath(FileOp::tar_out, "d")).status,
              FailsSaying(ErrorCode::permission_denied, "sub: Permission denied"));
  EXPECT_THAT(run(beneath(FileOp::tar_out, "missing")).status, FailsWith(ErrorCode::not_found));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  EXPECT_THAT(run(beneath(FileOp::tar_out, "fifo")).status, FailsWith(ErrorCode::invalid_argument));
}

TEST_F(TarOutTest, FileThatChangesItsSizeMeanwhile_KeepsTheAnnouncedOne) {
  for (const off_t new_size : {off_t{10}, off_t{4 << 20}}) {
    put("f", std::string(1 << 20, 'x'));
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    std::string archive;
    std::jthread reader([&, in = UniqueFd(ends[0])] {
      char buffer[4096];
      for (ssize_t got = 0; (got = ::read(in.get(), buffer, sizeof buffer)) > 0;) {
        // The pipe is full, so most of the file is yet to be read.
        if (archive.empty()) {
          EXPECT_EQ(::truncate(at("f").c_str(), new_size), 0);
        }
        archive.append(buffer, static_cast<std::size_t>(got));
      }
    });
    const auto request = beneath(FileOp::tar_out, "f");
    EXPECT_THAT(do_file_request(request, {.out = ends[1], .reply = [](auto&) { return Status(); }}), Succeeds());
    ::close(ends[1]);
    reader.join();
    EXPECT_EQ(archive.size(), 512U + (1U << 20) + 1024U);
    EXPECT_THAT(paths_in(archive), ElementsAre("f"));
  }
}

TEST_F(TarOutTest, ThereAndBack_IsTheSameTree) {
  make("from/d/" + std::string(200, 'n'));
  put("from/d/" + std::string(200, 'n') + "/" + std::string(250, 'f'), "long");
  put("from/\xff\n odd", std::string(100'000, 'o'));
  ::chmod(at("from/\xff\n odd").c_str(), 0751);
  link(std::string(500, 't'), "from/l");
  make("to");
  const Answer packed = run(beneath(FileOp::tar_out, "from"));
  ASSERT_THAT(run(beneath(FileOp::tar_in, "to"), packed.out).status, Succeeds());
  EXPECT_EQ(tree_in(run(beneath(FileOp::tar_out, "to")).out), tree_in(packed.out));
}

TEST_F(TarOutTest, VeryDeepTree_GoesThereAndBack) {
  make_deep(3000, "d", true);
  const Answer packed = run(beneath(FileOp::tar_out, "d"));
  ASSERT_THAT(packed.status, Succeeds());
  EXPECT_EQ(packed.last().files, 5999U);
  make("to");
  ASSERT_THAT(run(beneath(FileOp::tar_in, "to"), packed.out).status, Succeeds());
}

// Python's tarfile is the other party; each of its formats is read, and it reads ours.
TEST_F(TarOutTest, OtherPartysArchives_AreUnderstoodBothWays) {
  if (std::system("python3 -c 'import tarfile' 2>/dev/null") != 0)
    CLOCHE_CANNOT_TEST("python3", "needs the module tarfile");
  make("from/d");
  put("from/d/f", "content");
  put("from/" + std::string(120, 'n'), std::string(5000, 'x'));
  link("d/f", "from/l");
  ASSERT_EQ(::link(at("from/d/f").c_str(), at("from/hard").c_str()), 0);
  for (const char* format : {"USTAR", "GNU", "PAX"}) {
    // Names of so many bytes are beyond the oldest format.
    const std::string filter = std::string(format) == "USTAR" ? "lambda i: None if 'nnn' in i.name else i" : "None";
    const std::string make_archive = "python3 -c \"import tarfile; t = tarfile.open('" + at("a.tar") +
                                     "', 'w', format=tarfile." + format + "_FORMAT); t.add('" + at("from") +
                                     "', arcname='.', filter=" + filter + "); t.close()\"";
    ASSERT_EQ(std::system(make_archive.c_str()), 0);
    make("to");
    ASSERT_THAT(run(beneath(FileOp::tar_in, "to"), get("a.tar")).status, Succeeds()) << format;
    auto expected = tree_in(run(beneath(FileOp::tar_out, "from")).out);
    if (filter != "None") std::erase_if(expected, [](const std::string& line) { return line.starts_with("nnn"); });
    EXPECT_EQ(tree_in(run(beneath(FileOp::tar_out, "to")).out), expected) << format;
    auto gone = beneath(FileOp::remove, "to");
    gone.recursive = true;
    ASSERT_THAT(run(gone).status, Succeeds());
  }
  put("ours.tar", run(beneath(FileOp::tar_out, "from")).out);
  const std::string read_ours = "python3 -c \"import tarfile; t = tarfile.open('" + at("ours.tar") +
                                "'); n = t.getnames(); assert len(n) == 5, n; assert 'n' * 120 in n; assert "
                                "t.extractfile('d/f').read() == b'content'\"";
  EXPECT_EQ(std::system(read_ours.c_str()), 0);
}

}  // namespace
}  // namespace cloche::agent::testing
