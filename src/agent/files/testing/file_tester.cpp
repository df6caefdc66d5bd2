#include "agent/files/testing/file_tester.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/files/operations/abilities.hpp"
#include "agent/files/tree/remove_tree.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent::testing {

namespace {

std::string all_of(int fd) {
  std::string text;
  char buffer[65536];
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

UniqueFd memory_file(std::string_view content = {}) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  for (std::string_view rest = content; !rest.empty();) {
    rest.remove_prefix(static_cast<std::size_t>(::write(fd.get(), rest.data(), rest.size())));
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

void put_text(std::string& out, std::string_view text) {
  wire::put_varint(out, text.size());
  out += text;
}

std::string take_text(std::string_view& in) {
  std::uint64_t size = 0;
  wire::take_varint(in, size);
  std::string text(in.substr(0, size));
  in.remove_prefix(text.size());
  return text;
}

void give_to_user(const std::string& path) { EXPECT_TRUE(!is_root() || ::chown(path.c_str(), user_id, user_id) == 0); }

bool become_worker() {
  return ::setgroups(0, nullptr) == 0 && ::setegid(user_id) == 0 && ::seteuid(user_id) == 0 &&
         ::prctl(PR_SET_DUMPABLE, 0) == 0;
}

}  // namespace

std::vector<wire::FileEntry> Answer::entries() const {
  std::vector<wire::FileEntry> all;
  for (const auto& reply : replies) all.insert(all.end(), reply.entries.begin(), reply.entries.end());
  return all;
}

std::vector<std::string> Answer::paths() const {
  std::vector<std::string> all;
  for (const auto& entry : entries()) all.push_back(entry.path);
  return all;
}

std::vector<wire::GrepMatch> Answer::matches() const {
  std::vector<wire::GrepMatch> all;
  for (const auto& reply : replies) all.insert(all.end(), reply.matches.begin(), reply.matches.end());
  return all;
}

Answer run_from(const wire::FileRequest& request, int in) {
  Answer answer;
  const UniqueFd out = memory_file();
  answer.status = do_file_request(request, {.in = in, .out = out.get(), .reply = [&](const wire::FileReply& reply) {
                                              EXPECT_TRUE(answer.replies.empty() || !answer.replies.back().done);
                                              EXPECT_LT(wire::encode(reply).size(), 2U << 20);
                                              answer.replies.push_back(reply);
                                              return Status();
                                            }});
  if (answer.status) {
    EXPECT_TRUE(!answer.replies.empty() && answer.replies.back().done);
  } else {
    EXPECT_TRUE(answer.replies.empty() || !answer.replies.back().done);
  }
  answer.out = all_of(out.get());
  return answer;
}

Answer run(const wire::FileRequest& request, std::string_view content) {
  const UniqueFd in = memory_file(content);
  return run_from(request, in.get());
}

Answer run_as_user(const wire::FileRequest& request, std::string_view content) {
  const UniqueFd result = memory_file();
  const bool ran = in_child([&] {
    if (!become_worker()) return false;
    const Answer answer = run(request, content);
    std::string text;
    wire::put_varint(text, answer.status ? 0 : 1 + static_cast<std::uint64_t>(answer.status.error().code));
    put_text(text, answer.status ? "" : answer.status.error().message);
    put_text(text, answer.out);
    for (const auto& reply : answer.replies) put_text(text, wire::encode(reply));
    return ::write(result.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  });
  EXPECT_TRUE(ran);
  const std::string text = all_of(result.get());
  std::string_view rest = text;
  Answer answer;
  std::uint64_t code = 0;
  wire::take_varint(rest, code);
  const std::string message = take_text(rest);
  if (code != 0) answer.status = fail(static_cast<ErrorCode>(code - 1), message);
  answer.out = take_text(rest);
  while (!rest.empty()) answer.replies.push_back(wire::decode<wire::FileReply>(take_text(rest)).value());
  return answer;
}

bool in_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool good = work();
    std::fflush(nullptr);
    ::_exit(good && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_root() { return ::geteuid() == 0; }

FileTest::FileTest() {
  std::string name = (std::filesystem::temp_directory_path() / "cloche-files-XXXXXX").string();
  directory_ = ::mkdtemp(name.data());
  ::chmod(directory_.c_str(), 0755);
  give_to_user(directory_);
}

FileTest::~FileTest() {
  const std::filesystem::path path(directory_);
  const UniqueFd parent(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(remove_tree(parent.get(), path.filename().string(), WhenCancelled::go_on).failed, 0U);
}

void FileTest::put(std::string_view path, std::string_view content) const {
  std::ofstream(at(path), std::ios::binary) << content;
  give_to_user(at(path));
}

std::string FileTest::get(std::string_view path) const {
  std::ifstream file(at(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void FileTest::make(std::string_view path) const {
  std::string made;
  for (const auto& part : std::filesystem::path(path)) {
    made += (made.empty() ? "" : "/") + part.string();
    if (::mkdir(at(made).c_str(), 0755) == 0) give_to_user(at(made));
  }
}

void FileTest::link(std::string_view target, std::string_view path) const {
  EXPECT_EQ(::symlink(std::string(target).c_str(), at(path).c_str()), 0);
}

bool FileTest::exists(std::string_view path) const {
  struct stat status = {};
  return ::lstat(at(path).c_str(), &status) == 0;
}

unsigned FileTest::mode(std::string_view path) const {
  struct stat status = {};
  EXPECT_EQ(::lstat(at(path).c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::vector<std::string> FileTest::names(std::string_view path) const {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(at(path)))
    all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

void FileTest::make_deep(int levels, const char* name, bool with_files) const {
  UniqueFd here(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), name, 0755), 0);
    here.reset(::openat(here.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(here);
    ASSERT_TRUE(!is_root() || ::fchown(here.get(), user_id, user_id) == 0);
    if (with_files) {
      const UniqueFd file(::openat(here.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      ASSERT_EQ(::write(file.get(), "deep\n", 5), 5);
    }
  }
}

wire::FileRequest FileTest::beneath(wire::FileOp op, std::string_view path) const {
  return {.op = op, .path = std::string(path), .root = directory_};
}

BothWays::BothWays() : found_(abilities()) {
  if (GetParam() == Way::plain_calls) abilities() = {.openat2 = false, .tmpfile = false};
}

BothWays::~BothWays() { abilities() = found_; }

SmallDisk::SmallDisk(const std::string& path, const char* options)
    : path_(path), ok_(::mount("none", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0) {}

SmallDisk::~SmallDisk() { EXPECT_TRUE(!ok_ || ::umount2(path_.c_str(), MNT_DETACH) == 0); }

int zeros(std::uint64_t size) {
  const int fd = ::memfd_create("zeros", MFD_CLOEXEC);
  EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(size)), 0);
  return fd;
}

}  // namespace cloche::agent::testing
