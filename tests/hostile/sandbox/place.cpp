#include "hostile/sandbox/place.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <map>

#include "core/ids.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;

namespace {

// Listens where attackers look for it, and says every line back.
const std::string tenant_program = R"(
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + sys.argv[2])
abstract.listen()
open("/workspace/mark", "w").write("mine\n")
print("in", flush=True)
for line in sys.stdin:
    listener.setblocking(False), abstract.setblocking(False)
    came = []
    for door in (listener, abstract):
        try: door.accept(); came.append("visited")
        except BlockingIOError: pass
    print(line.strip(), open("/workspace/mark").read().strip(), os.listdir("/workspace"), came, flush=True)
)";

Task<std::string> next_line(Exec& exec) {
  std::string text;
  while (!text.ends_with('\n')) {
    auto piece = co_await exec.next(Deadline::after(60s));
    if (!piece) co_return "error: " + piece.error().message;
    if (std::holds_alternative<Outcome>(*piece)) co_return "ended: " + text;
    text += std::get<Output>(*piece).bytes;
  }
  co_return text;
}

}  // namespace

Place::Place(testing_support::Target target) : target_(std::move(target)) {
  instance_.value = "test-" + random_hex(6);
  auto made = testing_support::make_backend(target_, io_.get_executor(), threads_, stage_.scratch(), instance_);
  if (!made) throw std::runtime_error(made.error().message);
  backend_ = std::move(*made);
  run([this]() -> Task<> { co_await move_the_neighbour_in(); });
}

Place::~Place() {
  run([this]() -> Task<> {
    tenant_.reset();
    co_await drop(std::move(sandbox_));
    co_await drop(std::move(neighbour_));
    auto left = co_await backend_->recover(Deadline::after(60s));
    if (!left) co_return;
    for (auto& enclosure : *left) {
      ADD_FAILURE() << "a sandbox was left behind: " << enclosure->id().value;
      auto destroyed = co_await enclosure->destroy(Deadline::after(30s));
      EXPECT_TRUE(destroyed) << destroyed.error().message;
    }
  });
}

void Place::run(std::function<Task<>()> body) {
  std::exception_ptr thrown;
  io_.restart();
  asio::co_spawn(io_, body, [&](std::exception_ptr error) {
    thrown = error;
    // What the neighbour's program has outstanding would keep it going.
    io_.stop();
  });
  io_.run();
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "exception: " << error.what();
  }
}

SandboxSpec Place::spec(std::optional<Bytes> memory) const {
  SandboxSpec spec = testing_support::spec_for(target_);
  Mount mount;
  mount.source = stage_.programs();
  mount.target = "/attack";
  spec.mounts.push_back(std::move(mount));
  if (memory) spec.limits.memory = *memory;
  return spec;
}

Task<std::unique_ptr<LiveSandbox>> Place::create(SandboxSpec spec) {
  auto enclosure = co_await backend_->create(std::move(spec), Deadline::after(120s));
  EXPECT_TRUE(enclosure) << enclosure.error().message;
  if (!enclosure) co_return nullptr;
  auto opened = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(60s));
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) co_return nullptr;
  co_return std::move(*opened);
}

Task<> Place::drop(std::unique_ptr<LiveSandbox> sandbox) {
  if (!sandbox) co_return;
  auto destroyed = co_await sandbox->destroy(Deadline::after(60s));
  EXPECT_TRUE(destroyed) << destroyed.error().message;
}

Task<LiveSandbox*> Place::sandbox(std::optional<Bytes> memory) {
  if (sandbox_) {
    bool is_clean = !sandbox_->lost() && memory == memory_ && uses_ < most_uses();
    if (is_clean) {
      auto clean = co_await sandbox_->reset(Deadline::after(30s));
      is_clean = clean.has_value();
    }
    if (!is_clean) co_await drop(std::move(sandbox_));
  }
  if (!sandbox_) {
    memory_ = memory;
    uses_ = 0;
    SandboxSpec wanted = spec(memory);
    sandbox_ = co_await create(std::move(wanted));
  }
  ++uses_;
  co_return sandbox_.get();
}

Task<Result<Exec::Collected>> Place::exec(LiveSandbox& sandbox, std::vector<std::string> argv, ExecSpec spec) {
  // A zygote is given the script itself.
  spec.argv = spec.zygote.empty() ? command_of(argv) : std::vector<std::string>{"/attack/" + argv.front()};
  if (!spec.zygote.empty()) spec.argv.insert(spec.argv.end(), argv.begin() + 1, argv.end());
  spec.env = stage_.environment();
  auto ran = co_await sandbox.run(std::move(spec), Deadline::after(100s));
  co_return ran;
}

Task<> Place::move_the_neighbour_in() {
  SandboxSpec wanted = spec({});
  neighbour_ = co_await create(std::move(wanted));
  if (!neighbour_) co_return;
  ExecSpec program;
  program.argv = {"/usr/bin/python3", "-c", tenant_program, std::to_string(neighbour_port), neighbour_abstract};
  program.stdin_mode = Stdin::stream;
  auto started = co_await neighbour_->start(std::move(program), Deadline::after(60s));
  EXPECT_TRUE(started) << started.error().message;
  if (!started) co_return;
  tenant_ = std::move(*started);
  const std::string said = co_await next_line(*tenant_);
  EXPECT_EQ(said, "in\n");
}

Task<> Place::expect_neighbour_unharmed() {
  if (!tenant_) co_return;
  auto sent = co_await tenant_->write_stdin("well\n", Deadline::after(30s));
  EXPECT_TRUE(sent) << "the neighbour: " << sent.error().message;
  const std::string said = co_await next_line(*tenant_);
  EXPECT_EQ(said, "well mine ['mark'] []\n") << "the neighbour was harmed";
}

Task<> Place::expect_unharmed(Loss loss) {
  if (sandbox_ && !sandbox_->lost()) {
    auto answered = co_await sandbox_->ping(Deadline::after(30s));
    EXPECT_TRUE(answered || (loss == Loss::is_fine && sandbox_->lost()))
        << "the agent does not answer: " << answered.error().message;
  } else if (sandbox_ && loss == Loss::is_a_failure) {
    ADD_FAILURE() << "the sandbox is lost: " << sandbox_->lost()->message;
  }
  co_await expect_neighbour_unharmed();
  stage_.expect_host_unharmed();
}

namespace {

std::map<std::string, std::unique_ptr<Place>>& places() {
  static std::map<std::string, std::unique_ptr<Place>> all;
  return all;
}

}  // namespace

Place& place_of(const testing_support::Target& target) {
  auto& place = places()[target.name()];
  if (!place) place = std::make_unique<Place>(target);
  return *place;
}

void leave_all_places() { places().clear(); }

}  // namespace cloche::hostile
