// A process that is killed with its sandboxes: those of a named instance are found again, those of none are removed.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

#include "cloche/sandbox.hpp"
#include "library/library.hpp"

namespace cloche {
namespace {

using testing::IsEmpty;
using testing::Not;

class Killed : public Library {
 protected:
  // Makes a sandbox in a process of its own, which is then killed; the sandbox's id.
  std::string make_and_die(const EngineOptions& options) {
    std::array<int, 2> report{};
    EXPECT_EQ(::pipe(report.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        Engine engine(options);
        Sandbox sandbox = engine.create(spec());
        sandbox.write_file("kept", "as it was");
        const std::string id = sandbox.id();
        if (::write(report[1], id.data(), id.size()) > 0) ::pause();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      ::_exit(1);
    }
    ::close(report[1]);
    if (child < 0) throw std::runtime_error("cannot fork");
    std::array<char, 256> id{};
    const ssize_t n = ::read(report[0], id.data(), id.size());
    ::close(report[0]);
    EXPECT_GT(n, 0) << "no sandbox was made";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return {id.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }
};

TEST_F(Killed, WithoutAnInstance_TheNextEngineRemovesWhatItLeft) {
  const std::string id = make_and_die(options());
  EXPECT_THAT(cgroups_of(id), Not(IsEmpty())) << "nobody was there to remove it";
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  EXPECT_THAT(cgroups_of(id), IsEmpty());
  EXPECT_THAT(cgroups_of(sandbox.id()), Not(IsEmpty()));
}

TEST_F(Killed, WhileAnotherEngineLives_ThatOnesSandboxesAreLeftAlone) {
  const std::string abandoned = make_and_die(options());
  Engine living(options());
  Sandbox sandbox = living.create(spec());
  Engine other(options());
  Sandbox second = other.create(spec());
  EXPECT_THAT(cgroups_of(abandoned), IsEmpty());
  EXPECT_EQ(sandbox.run(ExecSpec::shell("echo on")).out, "on\n");
}

TEST_F(Killed, WithAnInstance_ItsSandboxIsMetAgainWithItsFiles) {
  const EngineOptions named = options("test-" + std::to_string(::getpid()));
  const std::string id = make_and_die(named);
  {
    // Others do not see it.
    Engine stranger(options());
    EXPECT_THAT(stranger.recover(), IsEmpty());
    Sandbox of_stranger = stranger.create(spec());
    EXPECT_THAT(cgroups_of(id), Not(IsEmpty()));
  }
  Engine engine(named);
  std::vector<Sandbox> found = engine.recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id(), id);
  EXPECT_EQ(found[0].read_file("kept"), "as it was");
  found.clear();
  EXPECT_THAT(cgroups_of(id), IsEmpty());
  EXPECT_THAT(engine.recover(), IsEmpty());
}

}  // namespace
}  // namespace cloche
