// Programs of a sandbox as E2B's clients start and follow them.
#include <sys/resource.h>

#include "connect/envelope.hpp"
#include "core/base64.hpp"
#include "dialect/e2b/envd/processes.hpp"
#include "envd/with_envd.hpp"

namespace cloche {

namespace {

using dialect::e2b::Processes;
using session::EndMode;
using session::SessionStore;
using testing::HasSubstr;
using testing::Not;

class EnvdProcesses : public WithEnvd {
 protected:
  Task<std::uint32_t> started(OpenStream& stream) {
    EXPECT_TRUE(co_await stream.wait_for("}}}"));
    co_return pid_in(stream.seen());
  }
  static std::string of(std::uint32_t pid, const std::string& more = "") {
    return R"({"process":{"pid":)" + std::to_string(pid) + "}" + more + "}";
  }
  static std::string data(const std::string& kind, const std::string& text) {
    return "\"" + kind + "\":\"" + encode_base64(text) + "\"";
  }
};

TEST_P(EnvdProcesses, Line_BringsStartOutputAndEnd) {
  in_envd([&](SessionStore&) -> Task<> {
    const std::string all = co_await shell_stream("echo out; sleep 0.1; echo err >&2; exit 3");
    EXPECT_THAT(all, HasSubstr("200 OK"));
    EXPECT_THAT(all, HasSubstr("application/connect+json"));
    EXPECT_GT(pid_in(all), 0U);
    EXPECT_THAT(all, HasSubstr(data("stdout", "out\n")));
    EXPECT_THAT(all, HasSubstr(data("stderr", "err\n")));
    EXPECT_THAT(all, HasSubstr(R"({"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3")"));
    EXPECT_THAT(all, HasSubstr(connect::in_envelope(2, "{}")));
  });
}

TEST_P(EnvdProcesses, LongOutput_IsWhole) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream = co_await open("process.Process/Start", start_message("head -c 20000000 /dev/zero; echo END"));
    std::size_t letters = 0;
    std::string tail;
    for (;;) {
      const std::string piece = co_await stream->client().receive();
      if (piece.empty()) break;
      letters += static_cast<std::size_t>(std::ranges::count(piece, 'A'));
      tail = (tail + piece).substr(std::max<std::size_t>(tail.size() + piece.size(), 4096) - 4096);
    }
    // Zeros are mostly the letter A in base64: four for three bytes.
    EXPECT_GT(letters, 26'600'000U);
    EXPECT_THAT(tail, HasSubstr(R"("status":"exit status 0")"));
  });
}

TEST_P(EnvdProcesses, WhatCannotBeStarted_IsInvalid) {
  in_envd([&](SessionStore&) -> Task<> {
    auto stream = co_await open("process.Process/Start", R"({"process":{"cmd":"/no/such"},"stdin":false})");
    std::string all = co_await stream->rest();
    EXPECT_THAT(all, HasSubstr(R"("code":"invalid_argument")"));
    EXPECT_THAT(all, Not(HasSubstr(R"("start")")));
    stream = co_await open("process.Process/Start",
                           R"({"process":{"cmd":"/bin/sh","args":["-c","pwd"],"cwd":"/no/such"},"stdin":false})");
    all = co_await stream->rest();
    EXPECT_THAT(all, HasSubstr("cwd '/no/such' does not exist"));
    calling_.user = "stranger";
    all = co_await shell_stream("id");
    EXPECT_THAT(all, HasSubstr(R"("code":"unauthenticated")"));
  });
}

TEST_P(EnvdProcesses, EnvironmentAndDirectory_AreThoseOfTheRequest) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream = co_await open(
        "process.Process/Start",
        R"({"process":{"cmd":"/bin/sh","args":["-c","echo $A $PWD"],"cwd":"/tmp","envs":{"A":"b"}},"stdin":false})");
    EXPECT_THAT(co_await stream->rest(), HasSubstr(data("stdout", "b /tmp\n")));
  });
}

TEST_P(EnvdProcesses, Stdin_IsSentAndClosed) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream = co_await open("process.Process/Start", R"({"process":{"cmd":"cat"}})");
    const std::uint32_t pid = co_await started(*stream);
    auto sent = co_await call("process.Process/SendInput", of(pid, R"(,"input":{"stdin":"aGk="})"));
    EXPECT_EQ(sent.status, 200U);
    EXPECT_EQ(sent.body, "{}");
    EXPECT_TRUE(co_await stream->wait_for(data("stdout", "hi")));
    sent = co_await call("process.Process/CloseStdin", of(pid));
    EXPECT_EQ(sent.status, 200U);
    EXPECT_THAT(co_await stream->rest(), HasSubstr("exit status 0"));
  });
}

TEST_P(EnvdProcesses, StreamedInput_Arrives) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream = co_await open("process.Process/Start", R"({"process":{"cmd":"cat"},"tag":"cat"})");
    co_await started(*stream);
    using connect::in_envelope;
    const std::string body = in_envelope(0, R"({"start":{"process":{"tag":"cat"}}})") +
                             in_envelope(0, R"({"keepalive":{}})") +
                             in_envelope(0, R"({"data":{"input":{"stdin":"aGk="}}})");
    const auto answer =
        co_await ask("POST", "/process.Process/StreamInput", "Content-Type: application/connect+json\r\n", body);
    EXPECT_EQ(answer.body, in_envelope(0, "{}") + in_envelope(2, "{}"));
    EXPECT_TRUE(co_await stream->wait_for(data("stdout", "hi")));
    co_await call("process.Process/SendSignal", R"({"process":{"tag":"cat"},"signal":"SIGNAL_SIGKILL"})");
    EXPECT_THAT(co_await stream->rest(), HasSubstr(R"("status":"signal: killed")"));
  });
}

TEST_P(EnvdProcesses, InputWithoutStdin_IsInternal) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream = co_await open("process.Process/Start", start_message("sleep 100"));
    const std::uint32_t pid = co_await started(*stream);
    auto sent = co_await call("process.Process/SendInput", of(pid, R"(,"input":{"stdin":"aGk="})"));
    EXPECT_EQ(sent.status, 500U);
    sent = co_await call("process.Process/SendInput", of(pid, R"(,"input":{"pty":"aGk="})"));
    EXPECT_EQ(sent.status, 500U);
    sent = co_await call("process.Process/Update", of(pid, R"(,"pty":{"size":{"cols":10,"rows":10}})"));
    EXPECT_EQ(sent.status, 500U);
    sent = co_await call("process.Process/SendSignal", of(pid, R"(,"signal":1)"));
    EXPECT_EQ(sent.status, 501U);
    sent = co_await call("process.Process/SendSignal", of(999999, R"(,"signal":9)"));
    EXPECT_EQ(sent.status, 404U);
    EXPECT_THAT(sent.body, HasSubstr("process with pid 999999 not found"));
  });
}

TEST_P(EnvdProcesses, Terminal_HasItsSizeAndIsResized) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream =
        co_await open("process.Process/Start",
                      start_message("stty size; read x; stty size", R"(,"pty":{"size":{"cols":100,"rows":30}})"));
    const std::uint32_t pid = co_await started(*stream);
    EXPECT_TRUE(co_await stream->wait_for(data("pty", "30 100\r\n")));
    const auto resized = co_await call("process.Process/Update", of(pid, R"(,"pty":{"size":{"cols":81,"rows":25}})"));
    EXPECT_EQ(resized.status, 200U);
    co_await call("process.Process/SendInput", of(pid, R"(,"input":{"pty":"Cg=="})"));
    EXPECT_TRUE(co_await stream->wait_for("\"pty\":"));
    const std::string all = co_await stream->rest();
    EXPECT_THAT(all, HasSubstr("exit status 0"));
  });
}

TEST_P(EnvdProcesses, ClientThatLeaves_DoesNotEndIt_AndAnotherFollows) {
  in_envd([&](SessionStore&) -> Task<> {
    auto stream =
        co_await open("process.Process/Start",
                      start_message("while [ ! -e /tmp/go ]; do sleep 0.05; done; echo late", R"(,"tag":"t")"));
    const std::uint32_t pid = co_await started(*stream);
    stream->client().reset();
    const auto second = co_await open("process.Process/Connect", R"({"process":{"tag":"t"}})");
    EXPECT_EQ(co_await started(*second), pid);
    const auto third = co_await open("process.Process/Connect", of(pid));
    EXPECT_EQ(co_await started(*third), pid);
    co_await shell_stream("touch /tmp/go");
    EXPECT_THAT(co_await second->rest(), HasSubstr(data("stdout", "late\n")));
    EXPECT_THAT(co_await third->rest(), HasSubstr(data("stdout", "late\n")));
    // How it ended is known for a while.
    const auto late = co_await open("process.Process/Connect", of(pid));
    const std::string all = co_await late->rest();
    EXPECT_EQ(pid_in(all), pid);
    EXPECT_THAT(all, HasSubstr("exit status 0"));
    EXPECT_THAT(all, Not(HasSubstr("stdout")));
    const auto signalled = co_await call("process.Process/SendSignal", of(pid, R"(,"signal":9)"));
    EXPECT_EQ(signalled.status, 404U);
  });
}

TEST_P(EnvdProcesses, List_HasWhatRuns) {
  in_envd([&](SessionStore&) -> Task<> {
    auto list = co_await call("process.Process/List", "{}");
    EXPECT_EQ(list.body, "{}");
    const auto stream = co_await open("process.Process/Start", start_message("sleep 100", R"(,"tag":"mine")"));
    const std::uint32_t pid = co_await started(*stream);
    list = co_await call("process.Process/List", "{}");
    EXPECT_THAT(list.body, HasSubstr(R"("cmd":"/bin/sh","args":["-c","sleep 100"])"));
    EXPECT_THAT(list.body, HasSubstr("\"pid\":" + std::to_string(pid)));
    EXPECT_THAT(list.body, HasSubstr(R"("tag":"mine")"));
    co_await call("process.Process/SendSignal", of(pid, R"(,"signal":"SIGNAL_SIGTERM")"));
    EXPECT_THAT(co_await stream->rest(), HasSubstr(R"("exitCode":-1,"status":"signal: terminated")"));
    list = co_await call("process.Process/List", "{}");
    EXPECT_EQ(list.body, "{}");
  });
}

TEST_P(EnvdProcesses, Timeout_KillsTheProgramOfAStart_AndOnlyTheStreamOfAConnect) {
  in_envd([&](SessionStore&) -> Task<> {
    const std::string killed = co_await shell_stream("sleep 100", "Connect-Timeout-Ms: 300\r\n");
    EXPECT_THAT(killed, HasSubstr(R"("code":"deadline_exceeded")"));
    auto list = co_await call("process.Process/List", "{}");
    EXPECT_EQ(list.body, "{}");
    const auto stream = co_await open("process.Process/Start", start_message("sleep 100"));
    const std::uint32_t pid = co_await started(*stream);
    const auto follower = co_await open("process.Process/Connect", of(pid), "Connect-Timeout-Ms: 100\r\n");
    EXPECT_THAT(co_await follower->rest(), HasSubstr("deadline_exceeded"));
    list = co_await call("process.Process/List", "{}");
    EXPECT_THAT(list.body, HasSubstr(std::to_string(pid)));
  });
}

TEST_P(EnvdProcesses, SilentStream_HasKeepalives) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto stream =
        co_await open("process.Process/Start", start_message("sleep 100"), "Keepalive-Ping-Interval: 1\r\n");
    EXPECT_TRUE(co_await stream->wait_for(R"({"event":{"keepalive":{}}})"));
  });
}

TEST_P(EnvdProcesses, EndOfTheSession_BreaksStreamsOff) {
  in_envd([&](SessionStore& store) -> Task<> {
    const auto stream = co_await open("process.Process/Start", start_message("sleep 100"));
    co_await started(*stream);
    auto ended = co_await store.end(tenant(), "s1", EndMode::cut, soon());
    EXPECT_TRUE(ended) << ended.error().message;
    const std::string all = co_await stream->rest();
    EXPECT_THAT(all, Not(HasSubstr(R"("end")")));
    EXPECT_THAT(all, Not(testing::EndsWith("0\r\n\r\n")));
  });
}

TEST_P(EnvdProcesses, TooManyPrograms_AreRefused) {
  StoreSetup setup;
  setup.quota.limits.runs = 1;
  in_envd(setup, [&](SessionStore&) -> Task<> {
    const auto stream = co_await open("process.Process/Start", start_message("sleep 100"));
    co_await started(*stream);
    EXPECT_THAT(co_await shell_stream("true"), HasSubstr("resource_exhausted"));
  });
}

TEST_P(EnvdProcesses, ClientThatDoesNotRead_SlowsTheProgramDown) {
  in_envd([&](SessionStore& store) -> Task<> {
    const auto stream =
        co_await open("process.Process/Start", start_message("head -c 200000000 /dev/zero; echo done > /tmp/done"));
    co_await started(*stream);
    co_await pause_for(1s);
    const auto here = co_await ask("GET", "/files?path=/tmp/done", "", "");
    EXPECT_EQ(here.status, 404U);
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    EXPECT_LT(use.ru_maxrss, 400 * 1024);  // far less than the program prints
    stream->client().reset();
    const Deadline late = Deadline::after(60s);
    for (;;) {
      const auto done = co_await ask("GET", "/files?path=/tmp/done", "", "");
      if (done.status == 200 || late.passed()) break;
      co_await pause_for(20ms);
    }
    EXPECT_FALSE(late.passed());  // without a reader, output is dropped
    auto use_of = co_await store.use(tenant(), "s1", soon());
    EXPECT_TRUE((*use_of)->part<Processes>().running().size() <= 1);
  });
}

TEST_P(EnvdProcesses, ProgramOfAnEarlierProcess_IsFoundAgain) {
  in_envd([&](SessionStore& store) -> Task<> {
    auto stream = co_await open("process.Process/Start", R"({"process":{"cmd":"cat","cwd":"/tmp"},"tag":"old"})");
    const std::uint32_t pid = co_await started(*stream);
    auto use = co_await store.use(tenant(), "s1", soon());
    Processes again(**use, Processes::Earlier::to_be_found);
    auto found = co_await again.recover(soon());
    EXPECT_TRUE(found) << found.error().message;
    const auto program = again.find({.pid = std::nullopt, .tag = "old"});
    EXPECT_TRUE(program) << program.error().message;
    if (!program) co_return;
    EXPECT_EQ((*program)->info().pid, pid);
    EXPECT_EQ((*program)->info().config.command, "cat");
    EXPECT_EQ((*program)->info().config.cwd, "/tmp");
    dialect::e2b::Follower follower(*program);
    dialect::e2b::ProcessInput input;
    input.bytes = "still here";
    const auto written = co_await (*program)->write(std::move(input), soon());
    EXPECT_TRUE(written) << written.error().message;
    auto next = co_await follower.next(soon());
    const auto* output = std::get_if<Output>(&next);
    EXPECT_EQ(output != nullptr ? output->bytes : "", "still here");
    EXPECT_TRUE((*program)->close_stdin());
    next = co_await follower.next(soon());
    EXPECT_TRUE(std::holds_alternative<Result<Outcome>>(next));
    co_await again.close();
    EXPECT_THAT(co_await stream->rest(), HasSubstr("exit status 0"));
  });
}

TEST_P(EnvdProcesses, RequestWithoutToken_Is401) {
  in_envd([&](SessionStore&) -> Task<> {
    calling_.authorized = false;
    const auto list = co_await call("process.Process/List", "{}");
    EXPECT_EQ(list.status, 401U);
    EXPECT_THAT(list.body, HasSubstr(R"("code":401)"));
    const auto health = co_await ask("GET", "/health", "", "");
    EXPECT_EQ(health.status, 204U);
  });
}

TEST_P(EnvdProcesses, OtherPathsAndMethods_Are404And405) {
  in_envd([&](SessionStore&) -> Task<> {
    EXPECT_EQ((co_await ask("POST", "/init", "", "")).status, 404U);
    EXPECT_EQ((co_await ask("GET", "/process.Process/List", "", "")).status, 405U);
    EXPECT_EQ((co_await ask("POST", "/process.Process/Fork", "", "{}")).status, 404U);
  });
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Backends, EnvdProcesses, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
