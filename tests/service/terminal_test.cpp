// A terminal in a session, over a WebSocket.
#include <boost/json/object.hpp>

#include "service/file_api.hpp"
#include "service/websocket_client.hpp"

namespace cloche {

namespace json = boost::json;

class TerminalApi : public FileApi {
 protected:
  Task<std::unique_ptr<WebSocketClient>> open(std::string query) {
    const std::string socket = (scratch_.path() / "socket").string();
    auto client = co_await WebSocketClient::connect(io_.get_executor(), socket, below_session("/terminal" + query));
    co_return client;
  }
};

TEST_P(TerminalApi, Shell_AnswersAndSaysHowItEnded) {
  serve([this]() -> Task<> {
    auto terminal = co_await open("?rows=30&cols=100");
    co_await terminal->wait_for("$ ");
    co_await terminal->send_bytes("stty size; tty; pwd\n");
    co_await terminal->wait_for("30 100\r\n/dev/");
    co_await terminal->wait_for("/workspace\r\n");
    co_await terminal->send_text(R"({"type": "resize", "rows": 5, "cols": 42})");
    co_await terminal->send_bytes("stty size\n");
    co_await terminal->wait_for("5 42\r\n");
    co_await terminal->send_bytes("exit 7\n");
    const json::value exit = co_await terminal->wait_for_exit();
    EXPECT_EQ(exit.at("type"), "exit");
    EXPECT_EQ(exit.at("exit_code"), 7);
    EXPECT_EQ(exit.at("ending"), "exited");
    EXPECT_EQ(terminal->close_code(), 1000);
  });
}

TEST_P(TerminalApi, ControlC_InterruptsTheProgram) {
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("gVisor's terminals make no signals of characters");
  serve([this]() -> Task<> {
    // With a trap: a plain shell loses an interrupt that comes between one command and the next.
    auto terminal =
        co_await open("?command=" + percent_encoded("trap 'exit 130' INT; echo up; while :; do sleep 0.1; done"));
    co_await terminal->wait_for("up");
    co_await terminal->send_bytes("\x03");
    const json::value interrupted = co_await terminal->wait_for_exit();
    EXPECT_EQ(interrupted.at("exit_code"), 130);
  });
}

TEST_P(TerminalApi, Signal_EndsTheProgram) {
  serve([this]() -> Task<> {
    auto terminal = co_await open("?command=" + percent_encoded("echo up; exec sleep 1000"));
    co_await terminal->wait_for("up");
    co_await terminal->send_text(R"({"type": "signal", "signal": "TERM"})");
    const json::value ended = co_await terminal->wait_for_exit();
    EXPECT_EQ(ended.at("signal"), 15);
    EXPECT_EQ(ended.at("ending"), "signalled");
  });
}

TEST_P(TerminalApi, SignalToTheTree_InterruptsWhatRunsInTheShell) {
  serve([this]() -> Task<> {
    auto terminal = co_await open("");
    co_await terminal->wait_for("$ ");
    co_await terminal->send_bytes("sh -c 'echo u''p; exec sleep 1000'\n");
    co_await terminal->wait_for("up\r\n");
    co_await terminal->send_text(R"({"type": "signal", "signal": "INT", "target": "tree"})");
    co_await terminal->send_bytes("echo al''ive\n");
    co_await terminal->wait_for("alive\r\n");
    co_await terminal->send_bytes("exit\n");
    const json::value exit = co_await terminal->wait_for_exit();
    EXPECT_EQ(exit.at("exit_code"), 0);
  });
}

TEST_P(TerminalApi, MuchOutput_ComesWhole) {
  serve([this]() -> Task<> {
    const std::string printed = co_await shell("stty -onlcr; seq 1 300000");
    std::string wanted;
    for (int i = 1; i <= 300'000; ++i) wanted += std::to_string(i) + "\n";
    EXPECT_TRUE(printed == wanted) << printed.size() << " of " << wanted.size();
  });
}

TEST_P(TerminalApi, ClientThatGoes_TakesItsProgramAlong) {
  serve([this]() -> Task<> {
    for (const bool politely : {true, false}) {
      auto terminal = co_await open("?command=" + percent_encoded("echo $$ > pid; echo up; sleep 1000"));
      co_await terminal->wait_for("up");
      if (politely) {
        co_await terminal->close();
      } else {
        terminal->drop();
      }
      const std::string gone = co_await shell(
          "i=0; while kill -0 $(cat pid) 2>/dev/null && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; "
          "kill -0 $(cat pid) 2>/dev/null && echo alive || echo gone");
      EXPECT_EQ(gone, "gone\r\n");
    }
  });
}

TEST_P(TerminalApi, ControlThatIsNone_EndsTheTerminal) {
  serve([this]() -> Task<> {
    auto terminal = co_await open("?command=" + percent_encoded("echo up; sleep 1000"));
    co_await terminal->wait_for("up");
    co_await terminal->send_text("{\"type\": \"dance\"}");
    const json::value exit = co_await terminal->wait_for_exit();
    EXPECT_EQ(exit.at("ending"), "cancelled");
    EXPECT_THAT(std::string(exit.at("reason").as_string()), HasSubstr("resize"));
    EXPECT_EQ(terminal->close_code(), 1008);
  });
}

TEST_P(TerminalApi, WrongRequests_AreRefusedOverHttp) {
  serve([this]() -> Task<> {
    http::Fields none;
    auto plain = co_await raw("GET", below_session("/terminal"), none, "");
    EXPECT_EQ(plain.status, 426u) << plain.body;
    http::Fields upgrade{{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
    auto wrong = co_await raw("GET", below_session("/terminal?rows=0"), upgrade, "");
    EXPECT_EQ(wrong.status, 400u) << wrong.body;
    auto unknown = co_await raw("GET", below_session("/terminal?size=9"), upgrade, "");
    EXPECT_EQ(unknown.status, 400u) << unknown.body;
    auto listed = co_await call("GET", "/sessions");
    EXPECT_EQ(listed.body.at("sessions").as_array().size(), 0u);
  });
}

TEST_P(TerminalApi, SessionThatEnds_IsToldToItsTerminal) {
  serve([this]() -> Task<> {
    auto terminal = co_await open("?command=" + percent_encoded("echo up; sleep 1000"));
    co_await terminal->wait_for("up");
    auto ended = co_await call("DELETE", below_session("?mode=cut"));
    EXPECT_EQ(ended.status, 200u) << error_message_of(ended);
    const json::value last = co_await terminal->wait_for_exit();
    EXPECT_TRUE(last.at("type") == "error" || last.at("type") == "exit");
  });
}

std::vector<Target> terminal_targets() { return {{"oci", "crun"}, {"oci", "runsc"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, TerminalApi, testing::ValuesIn(terminal_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
