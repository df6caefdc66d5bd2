// `cloche sessions cp`: files and directories, whole or not at all.
#include <sys/stat.h>

#include <boost/json/object.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/client.hpp"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class CliCopy : public CliClient {
 protected:
  CommandEnd copy(const std::string& from, const std::string& to, const std::string& input = "") const {
    CommandSpec spec = client({"sessions", "cp", from, to}, input);
    spec.directory = scratch_.path() / "here";
    return run_command(spec);
  }
  std::string remote(const std::string& path) const { return run_client({"exec", "demo", "cat", path}).out; }
  std::vector<std::string> names(const std::string& below) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path_of(below))) all.push_back(entry.path().filename());
    return all;
  }
  void SetUp() override {
    CliClient::SetUp();
    fs::create_directories(path_of("here"));
  }
};

TEST_F(CliCopy, FilesAndDirectories_GoInAndOut) {
  source("here/a.txt", "alpha");
  fs::create_directories(path_of("here/dir/sub"));
  source("here/dir/sub/b.bin", std::string("\0\xff", 2) + std::string(300'000, 'b'));
  source("here/dir/run.sh", "#!/bin/sh\necho ran\n");
  fs::permissions(path_of("here/dir/run.sh"), fs::perms(0755));

  EXPECT_EQ(copy("a.txt", "demo:").exit_code, 0);
  EXPECT_EQ(remote("a.txt"), "alpha");
  EXPECT_EQ(copy("a.txt", "demo:new/name.txt").exit_code, 0);
  EXPECT_EQ(remote("new/name.txt"), "alpha");
  EXPECT_EQ(copy("a.txt", "demo:new").exit_code, 0) << "a directory that is there gets it";
  EXPECT_EQ(remote("new/a.txt"), "alpha");
  const CommandEnd whole = copy("dir", "demo:");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.err, "") << "no progress where no terminal is";
  EXPECT_EQ(run_client({"exec", "demo", "--", "./dir/run.sh"}).out, "ran\n");
  EXPECT_EQ(copy("dir/.", "demo:flat").exit_code, 0);
  EXPECT_EQ(remote("flat/run.sh"), "#!/bin/sh\necho ran\n");
  EXPECT_EQ(copy("-", "demo:typed", "from stdin").exit_code, 0);
  EXPECT_EQ(remote("typed"), "from stdin");

  fs::create_directories(path_of("here/out"));
  EXPECT_EQ(copy("demo:dir", "out").exit_code, 0);
  EXPECT_EQ(text_of("here/out/dir/sub/b.bin"), text_of("here/dir/sub/b.bin"));
  EXPECT_EQ(copy("demo:dir", "fresh").exit_code, 0);
  EXPECT_EQ(text_of("here/fresh/run.sh"), "#!/bin/sh\necho ran\n");
  EXPECT_EQ(copy("demo:dir/run.sh", "out/").exit_code, 0);
  struct stat status = {};
  ASSERT_EQ(::stat(path_of("here/out/run.sh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0755u);
  EXPECT_EQ(copy("demo:/workspace/a.txt", "renamed").exit_code, 0);
  EXPECT_EQ(text_of("here/renamed"), "alpha");
  EXPECT_EQ(copy("demo:dir/sub/b.bin", "-").out, text_of("here/dir/sub/b.bin"));
  EXPECT_EQ(copy("demo:a.txt", "a.txt").exit_code, 0) << "over a file that is there";
  EXPECT_THAT(names("here"), UnorderedElementsAre("a.txt", "dir", "out", "fresh", "renamed"));

  const auto told = json_of({"sessions", "cp", path_of("here/dir"), "demo:again"}).as_object();
  EXPECT_EQ(told.at("path").as_string(), "demo:again");
  EXPECT_EQ(told.at("entries").as_int64(), 4);
  EXPECT_EQ(told.at("bytes").as_int64(), 300'021);
  CommandSpec tar = client({});
  tar.argv = {"bash", "-c", "\"$0\" sessions cp demo:dir - | tar -t | sort | tr '\\n' ' '", CLOCHE_PROGRAM};
  EXPECT_EQ(run_command(tar).out, "run.sh sub/ sub/b.bin ");
}

TEST_F(CliCopy, Mistakes_LeaveNothingBehind) {
  source("here/a.txt", "alpha");
  ASSERT_EQ(run_client({"exec", "demo", "--", "sh", "-c",
                        "mkdir d; ln -s /etc/passwd out; ln -s d in; touch d/x; mkfifo pipe"})
                .exit_code,
            0);
  const struct {
    const char* from;
    const char* to;
    int exit_code;
    const char* error;
  } cases[] = {
      {"missing", "demo:", 70, "missing"},
      {"a.txt", "b.txt", 64, "exactly one path must be in a session"},
      {"demo:d", "other:d", 64, "exactly one path must be in a session"},
      {"demo:missing", "x", 70, "missing does not exist in session demo"},
      {"nobody:x", "x", 70, "no session `nobody`"},
      {"demo:../etc", "x", 64, ".."},
      {"demo:/etc/passwd", "x", 64, "is not in the workspace"},
      {"demo:out", "x", 70, "link"},
      {"demo:pipe", "x", 64, "is a FIFO, not a regular file"},
      {"a.txt", "demo:../x", 64, ".."},
      {"-", "demo:", 64, "stdin has no name"},
      {"demo:d", "/nowhere/x", 70, "/nowhere"},
      {"demo:d/x", "/nowhere/x", 70, "/nowhere"},
      {"demo:d", "a.txt", 70, "a.txt"},
  };
  for (const auto& test : cases) {
    const CommandEnd end = copy(test.from, test.to);
    EXPECT_EQ(end.exit_code, test.exit_code) << test.from << " " << test.to << ": " << end.err;
    EXPECT_THAT(end.err, HasSubstr(test.error)) << test.from << " " << test.to;
  }
  EXPECT_THAT(names("here"), UnorderedElementsAre("a.txt"));
  EXPECT_EQ(text_of("here/a.txt"), "alpha");

  const CommandEnd with_links = copy("demo:", "all");
  EXPECT_EQ(with_links.exit_code, 0) << with_links.err;
  EXPECT_THAT(with_links.err, HasSubstr("skipped 1 links that lead out of the directory, such as out"));
  EXPECT_THAT(names("here/all"), UnorderedElementsAre("d", "in"));
}

TEST_F(CliCopy, LargeFile_TakesLittleMemory) {
  constexpr std::uintmax_t size = 48 << 20;
  const std::string big = source("here/big", "");
  fs::resize_file(big, size);
  CommandSpec both = client({});
  both.directory = path_of("here");
  both.argv = {"bash", "-c",
               "measure() { /usr/bin/env python3 -c 'import resource, subprocess, sys\n"
               "code = subprocess.call(sys.argv[1:])\n"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\nsys.exit(code)' \"$@\"; }\n"
               "measure \"$0\" sessions cp big demo: && measure \"$0\" sessions cp demo:big back && cmp big back",
               CLOCHE_PROGRAM};
  const CommandEnd end = run_command(both);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  std::istringstream peaks(end.out);
  int mebibytes = 0;
  int measured = 0;
  for (; peaks >> mebibytes; ++measured) EXPECT_LT(mebibytes, 45) << "the file has 48";
  EXPECT_EQ(measured, 2);
}

// Starts a copy of something large, and returns as soon as it has begun.
class CliCopyBroken : public CliCopy {
 protected:
  std::unique_ptr<Command> begin() {
    const std::string make = "head -c 100000000 /dev/zero > big";
    EXPECT_EQ(run_client({"exec", "demo", "--", "sh", "-c", make}).exit_code, 0);
    CommandSpec spec = client({"sessions", "cp", "demo:big", "half"});
    spec.directory = path_of("here");
    auto command = std::make_unique<Command>(spec);
    // Its hidden place is the first that is seen of it.
    while (names("here").empty() && ::kill(command->pid(), 0) == 0) {
    }
    return command;
  }
};

TEST_F(CliCopyBroken, ByTheServicesDeath_NoHalfFileIsLeft) {
  const auto command = begin();
  kill_service();
  const CommandEnd end = command->finish();
  EXPECT_EQ(end.exit_code, 69) << end.err;
  EXPECT_THAT(names("here"), IsEmpty());
}

TEST_F(CliCopyBroken, ByASignal_NoHalfFileIsLeft) {
  const auto command = begin();
  command->signal(SIGTERM);
  EXPECT_EQ(command->finish().exit_code, 143);
  EXPECT_THAT(names("here"), IsEmpty());
}

}  // namespace
}  // namespace cloche
