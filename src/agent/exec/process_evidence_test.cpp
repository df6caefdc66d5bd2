#include "agent/exec/process_evidence.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "agent/sealed_file.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;

void code_of_its_own() {}

// A child that acts on request, and the differences afterwards.
std::vector<std::string> changed_by(const std::function<void()>& act) {
  int to_child[2];
  int from_child[2];
  EXPECT_EQ(::pipe2(to_child, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(from_child, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    [[maybe_unused]] ssize_t n = ::write(from_child[1], "r", 1);
    n = ::read(to_child[0], &byte, 1);
    act();
    n = ::write(from_child[1], "d", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(from_child[0], &byte, 1), 1);
  const auto before = evidence_of(child, EvidenceOf::another);
  EXPECT_THAT(differences(before, evidence_of(child, EvidenceOf::another)), IsEmpty());
  EXPECT_EQ(::write(to_child[1], "g", 1), 1);
  EXPECT_EQ(::read(from_child[0], &byte, 1), 1);
  auto changed = differences(before, evidence_of(child, EvidenceOf::another));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {to_child[0], to_child[1], from_child[0], from_child[1]}) ::close(fd);
  return changed;
}

TEST(ProcessEvidence, ProcessThatDoesItsWork_IsTheSame) {
  EXPECT_THAT(changed_by([] {
                volatile char stack[64 * 1024];
                for (std::size_t i = 0; i < sizeof stack; i += 4096) stack[i] = 1;
                std::vector<std::string> heap(10'000, std::string(100, 'x'));
              }),
              IsEmpty());
}

TEST(ProcessEvidence, NewDescriptor_IsSeen) {
  EXPECT_THAT(changed_by([] { ::open("/dev/null", O_RDONLY); }), Contains(StartsWith("descriptor ")));
}

TEST(ProcessEvidence, ClosedDescriptor_IsSeen) {
  EXPECT_THAT(changed_by([] { ::close(0); }), Contains("descriptor 0"));
}

TEST(ProcessEvidence, OtherSealedFileInItsPlace_IsSeen) {
  const auto file = sealed_file("program", "good", SealedUse::program);
  const auto other = sealed_file("program", "evil", SealedUse::program);
  ASSERT_TRUE(file && other);
  EXPECT_THAT(changed_by([&] { ::dup2(other->get(), file->get()); }),
              Contains("descriptor " + std::to_string(file->get())));
}

TEST(ProcessEvidence, FileThatIsNotSealed_IsSeenWhenItIsWritten) {
  const UniqueFd file(::memfd_create("program", MFD_CLOEXEC));
  ASSERT_TRUE(file);
  EXPECT_THAT(changed_by([&] { [[maybe_unused]] const ssize_t n = ::write(file.get(), "evil", 4); }),
              Contains("descriptor " + std::to_string(file.get())));
}

TEST(ProcessEvidence, NewCode_IsSeen) {
  EXPECT_THAT(changed_by([] { ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }),
              Contains("mappings"));
}

TEST(ProcessEvidence, CodeThatWasWrittenTo_IsSeen) {
  const auto changed = changed_by([] {
    const auto at = reinterpret_cast<std::uintptr_t>(&code_of_its_own) & ~std::uintptr_t{4095};
    auto* page = reinterpret_cast<volatile char*>(at);
    ::mprotect(const_cast<char*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    page[0] = page[0];
    ::mprotect(const_cast<char*>(page), 4096, PROT_READ | PROT_EXEC);
  });
  EXPECT_THAT(changed, Contains("written code"));
}

TEST(ProcessEvidence, PrioritySignalsAndProcessors_AreSeen) {
  EXPECT_THAT(changed_by([] { ::setpriority(PRIO_PROCESS, 0, 5); }), Contains("nice value"));
  EXPECT_THAT(changed_by([] { ::signal(SIGUSR1, SIG_IGN); }), Contains("SigIgn"));
  EXPECT_THAT(changed_by([] {
                const sched_param none{};
                ::sched_setscheduler(0, SCHED_IDLE, &none);
              }),
              Contains("scheduling policy"));
  EXPECT_THAT(changed_by([] {
                const rlimit limit{10, 10};
                ::setrlimit(RLIMIT_NOFILE, &limit);
              }),
              Contains("limits"));
}

TEST(ProcessEvidence, ProcessThatIsGone_IsNotTheSame) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const auto before = evidence_of(child, EvidenceOf::another);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(differences(before, evidence_of(child, EvidenceOf::another)).empty());
}

}  // namespace
}  // namespace cloche::agent
