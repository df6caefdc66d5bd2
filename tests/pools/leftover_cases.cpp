// Leftovers: a program plants marks wherever it can; the next lease of the same sandbox sees what a fresh one sees.
//
// tests/programs/plant.py plants, tests/programs/look.py states all that can be seen, as a list of facts. That the
// looking program sees the marks is shown in the lease in which they are planted.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <fstream>
#include <iterator>
#include <set>

#include "support/pools.hpp"

namespace cloche {

namespace {

using Facts = std::set<std::string>;
using testing::Contains;
using testing::IsEmpty;

// How a program is run.
enum class Way { program, zygote, terminal };

struct Planted {
  Facts marks;        // that others can see
  Facts inheritable;  // that only a child of the planting program can see
  Facts inherited;    // what the looking program saw as such a child
  std::string told;   // all that was said, for a failed test
};

std::string source_of(const std::string& program) {
  std::ifstream file(std::string(CLOCHE_TEST_PROGRAMS) + "/" + program);
  return {std::istreambuf_iterator<char>(file), {}};
}

Facts facts_of(const boost::json::value& list) {
  const auto facts = boost::json::value_to<std::vector<std::string>>(list);
  return {facts.begin(), facts.end()};
}

Facts without(const Facts& from, const Facts& what) {
  Facts rest;
  std::ranges::set_difference(from, what, std::inserter(rest, rest.end()));
  return rest;
}

Task<ExecSpec> spec_of(pool::Lease& lease, Way way, std::string program, std::vector<std::string> arguments) {
  ExecSpec spec;
  std::string source = source_of(program);
  if (way == Way::zygote) {
    auto files = lease->files();
    FilePath path("/workspace/" + program);
    auto written = co_await files.write(std::move(path), std::move(source));
    EXPECT_TRUE(written) << written.error().message;
    spec.zygote = "python";
    spec.argv = {program};
  } else {
    spec.argv = {"python3", "-c", std::move(source)};
  }
  if (way == Way::terminal) spec.terminal = TerminalSize{};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  co_return spec;
}

// What is seen in the lease now.
Task<Facts> look(pool::Lease& lease, Way way, std::string where) {
  std::vector<std::string> arguments(1, where);
  ExecSpec spec = co_await spec_of(lease, way, "look.py", std::move(arguments));
  auto ran = co_await lease.run(std::move(spec), Deadline::after(150s));
  EXPECT_TRUE(ran) << ran.error().message;
  if (!ran) co_return Facts();
  const auto begin = ran->out.find('[');
  const auto end = ran->out.find('\n', begin);
  boost::system::error_code error;
  const auto told = boost::json::parse(ran->out.substr(std::min(begin, ran->out.size()), end - begin), error);
  EXPECT_FALSE(error) << ran->out << ran->err;
  if (error) co_return Facts();
  co_return facts_of(told);
}

// Plants; the program stays, and so do all it has started.
Task<Planted> plant(Exec& exec) {
  std::string out;
  while (out.find('\n', std::min(out.find('{'), out.size())) == out.npos) {
    auto piece = co_await exec.next(Deadline::after(150s));
    EXPECT_TRUE(piece) << piece.error().message;
    if (!piece || std::holds_alternative<Outcome>(*piece)) {
      ADD_FAILURE() << "the planting program ended: " << out;
      co_return Planted();
    }
    out += std::get<Output>(*piece).bytes;
  }
  const auto begin = out.find('{');
  const auto told = boost::json::parse(out.substr(begin, out.find('\n', begin) - begin));
  Planted planted;
  planted.marks = facts_of(told.at("planted"));
  planted.inheritable = facts_of(told.at("inheritable"));
  planted.inherited = facts_of(told.at("inherited"));
  planted.told = boost::json::serialize(told.at("refused")) + boost::json::serialize(told.at("errors"));
  co_return planted;
}

// A sensible minimum, without which the test would show nothing.
void expect_enough(const Planted& planted, const Target& target) {
  for (const char* mark : {"entry '/workspace/mark'",
                           "entry '/workspace/new\\nline'",
                           "entry '/workspace/closed'",
                           "entry '/workspace/deep'",
                           "entry '/tmp/mark'",
                           "entry '/tmp/sticky'",
                           "entry '/tmp/socket'",
                           "entry '/dev/shm/mark'",
                           "entry '/dev/shm/sem.cloche-mark'",
                           "entry '/workspace/.ssh'",
                           "lock /workspace",
                           "process mark-daemon",
                           "process mark-stopped",
                           "process mark-headless",
                           "process mark-hopper",
                           "process cloche-agent",
                           "sysv shm 0x4711",
                           "sysv sem 0x4712",
                           "sysv msg 0x4713",
                           "port 4710 tcp taken",
                           "port 4712 udp taken",
                           "socket unix @cloche-mark",
                           "started profile",
                           "started bashrc",
                           "started sh",
                           "started usercustomize",
                           "started colorsys",
                           "self builtins True"}) {
    EXPECT_THAT(planted.marks, Contains(mark)) << planted.told;
  }
  if (!target.is_gvisor()) {
    EXPECT_THAT(planted.marks, Contains("mq")) << planted.told;
  }
  EXPECT_GE(planted.marks.size(), 90u) << planted.told;
  EXPECT_GE(planted.inheritable.size(), 8u) << planted.told;
  for (const std::string& mark : planted.marks) {
    const bool beyond_the_walls = mark.starts_with("wrote") || mark.starts_with("immutable") || mark == "key";
    EXPECT_FALSE(beyond_the_walls) << mark;
  }
}

Profile with_zygote(Profile profile) {
  profile.sandbox.limits.memory = mib(512);
  // Many: the threads of gVisor's own kernel count, and grow with what programs did, never to be fewer again.
  profile.sandbox.limits.pids = 1024;
  profile.zygotes.emplace_back();
  return profile;
}

Task<> plant_and_look(pool::Manager& manager, const Target& target, Way way) {
  // A walk through all of /usr takes gVisor minutes.
  const std::string where = target.is_gvisor() ? "mounts" : "everywhere";
  std::string id;
  Facts fresh;
  Facts fresh_to_a_program;
  {
    pool::Lease lease = co_await lend(manager);
    id = lease->id().value;
    fresh_to_a_program = co_await look(lease, Way::program, where);
    fresh = co_await look(lease, way, where);
  }
  {
    pool::Lease lease = co_await lend(manager);
    EXPECT_EQ(lease->id().value, id);
    std::vector<std::string> arguments(1, where);
    arguments.push_back(source_of("look.py"));
    // The fake's keyrings are the host's own.
    if (!target.is_fake()) arguments.emplace_back("keys");
    ExecSpec spec = co_await spec_of(lease, way, "plant.py", std::move(arguments));
    auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    const Planted planted = co_await plant(**started);
    expect_enough(planted, target);
    // The control: a check in this lease sees all of it.
    const Facts seen = co_await look(lease, Way::program, where);
    EXPECT_THAT(without(planted.marks, seen), IsEmpty()) << "planted, and not seen by the looking program";
    EXPECT_THAT(without(planted.inheritable, planted.inherited), IsEmpty());
    EXPECT_GE(without(seen, fresh_to_a_program).size(), planted.marks.size());
    lease.give_back();
    auto end = co_await (*started)->collect(Deadline::after(60s));
    EXPECT_TRUE(!end && end.error().code == ErrorCode::cancelled);
  }
  pool::Lease lease = co_await lend(manager);
  EXPECT_EQ(lease->id().value, id) << "it could not be made clean";
  const Facts seen = co_await look(lease, way, where);
  EXPECT_THAT(without(seen, fresh), IsEmpty()) << "left over";
  EXPECT_THAT(without(fresh, seen), IsEmpty()) << "lost";
}

}  // namespace

POOLS(MarksOfAProgram_AreNotFoundInTheNextLease) {
  in_manager(with(with_zygote(profile(1, 1))),
             [&](pool::Manager& manager) { return plant_and_look(manager, target(), Way::program); });
}

POOLS(MarksOfAZygotesRun_AreNotFoundInTheNextLease) {
  in_manager(with(with_zygote(profile(1, 1))),
             [&](pool::Manager& manager) { return plant_and_look(manager, target(), Way::zygote); });
}

POOLS(MarksOfAProgramInATerminal_AreNotFoundInTheNextLease) {
  in_manager(with(with_zygote(profile(1, 1))),
             [&](pool::Manager& manager) { return plant_and_look(manager, target(), Way::terminal); });
}

}  // namespace cloche
