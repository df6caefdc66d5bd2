// JavaScript cells, in a sandbox of the fake backend.
#include "context/javascript_context.hpp"

#include <boost/json/parse.hpp>
#include <vector>

#include "context/testing/context_fixture.hpp"
#include "process/programs.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Evaluated {
  CellResult result;
  std::string value;  // as text; empty if there is none
  std::vector<boost::json::value> displays;
};

class JavaScriptContextTest : public ContextFixture {
 protected:
  void with_node(std::function<Task<>(JavaScriptContext&)> body) {
    if (!process::find_program("node", process::directories_of(process::system_path))) {
      CLOCHE_CANNOT_TEST("node", "this machine has no Node.js");
    }
    in_sandbox([this, body](LiveSandbox& sandbox) -> Task<> {
      JavaScriptContextOptions options;
      options.grace = 2s;
      JavaScriptContext context(io_.get_executor(), sandbox, std::move(options));
      co_await body(context);
      co_await context.close();
    });
  }

  static Task<Evaluated> run(JavaScriptContext& node, CellRequest request) {
    Evaluated shown;
    request.display = [&](const std::string& text) {
      auto display = boost::json::parse(text);
      if (display.at("main").as_bool()) shown.value = display.at("forms").at("text/plain").as_string();
      shown.displays.push_back(std::move(display));
    };
    const OutputSink no_sink;
    auto ran = co_await node.execute(std::move(request), no_sink, Deadline::after(90s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (ran) shown.result = std::move(*ran);
    co_return shown;
  }
  static Task<Evaluated> run(JavaScriptContext& node, std::string code) {
    CellRequest request;
    request.code = std::move(code);
    request.wall_limit = 60s;
    return run(node, std::move(request));
  }
};

TEST_F(JavaScriptContextTest, CellsInARow_FindWhatEarlierOnesLeft) {
  with_node([](JavaScriptContext& node) -> Task<> {
    const auto first = co_await run(node, "const z = 20\nlet fs = 1\nfunction double(n) { return n * 2 }");
    EXPECT_EQ(first.result.ending, ContextEnding::ok) << first.result.reason;
    EXPECT_EQ(first.value, "");
    const auto second = co_await run(node, "console.log('so:'); console.error('err')\ndouble(z + 1)");
    EXPECT_EQ(second.value, "42");
    EXPECT_EQ(second.result.out, "so:\n");
    EXPECT_EQ(second.result.err, "err\n");
    const auto awaited = co_await run(node, "const r = await new Promise(go => setTimeout(() => go('slept'), 5))\nr");
    EXPECT_EQ(awaited.value, "slept");
    const auto object = co_await run(node, "({a: [1, 2]})");
    EXPECT_EQ(object.value, "{ a: [ 1, 2 ] }");
  });
}

TEST_F(JavaScriptContextTest, Imports_WorkAsInAModule) {
  with_node([](JavaScriptContext& node) -> Task<> {
    const auto ran = co_await run(
        node,
        "import path, { basename as base } from 'path'\nimport * as os from \"os\";\nbase('/a/b') + typeof os.cpus");
    EXPECT_EQ(ran.value, "bfunction") << ran.result.reason;
  });
}

TEST_F(JavaScriptContextTest, Errors_AreReportedAndTheContextLives) {
  with_node([](JavaScriptContext& node) -> Task<> {
    const auto thrown = co_await run(node, "throw new TypeError('bad')");
    EXPECT_EQ(thrown.result.ending, ContextEnding::error);
    EXPECT_EQ(thrown.result.error.value_or(CellError{}).type, "TypeError");
    EXPECT_EQ(thrown.result.error.value_or(CellError{}).message, "bad");
    const auto rejected = co_await run(node, "await Promise.reject(new RangeError('no'))");
    EXPECT_EQ(rejected.result.error.value_or(CellError{}).type, "RangeError");
    const auto syntax = co_await run(node, "foo(");
    EXPECT_EQ(syntax.result.error.value_or(CellError{}).type, "SyntaxError");
    const auto late =
        co_await run(node, "setTimeout(() => { throw new Error('late') }, 1)\nawait new Promise(() => {})");
    EXPECT_EQ(late.result.error.value_or(CellError{}).message, "late");
    const auto number = co_await run(node, "throw 5");
    EXPECT_EQ(number.result.error.value_or(CellError{}).message, "5");
    const auto next = co_await run(node, "1 + 1");
    EXPECT_EQ(next.value, "2");
  });
}

TEST_F(JavaScriptContextTest, EndlessCells_AreInterruptedAndTheContextLives) {
  with_node([](JavaScriptContext& node) -> Task<> {
    (void)co_await run(node, "var kept = 'kept'");
    for (const char* code : {"while (true) {}", "await new Promise(() => setInterval(() => {}, 1000))"}) {
      CellRequest request;
      request.code = code;
      request.wall_limit = 300ms;
      const auto cut = co_await run(node, std::move(request));
      EXPECT_EQ(cut.result.ending, ContextEnding::timeout) << code;
      EXPECT_EQ(cut.result.state, ContextState::kept) << code << ": " << cut.result.reason;
      const auto next = co_await run(node, "kept");
      EXPECT_EQ(next.value, "kept") << code;
    }
  });
}

TEST_F(JavaScriptContextTest, ProcessThatExits_IsReplacedForTheNextCell) {
  with_node([](JavaScriptContext& node) -> Task<> {
    const auto left = co_await run(node, "process.exit(3)");
    EXPECT_EQ(left.result.ending, ContextEnding::lost);
    EXPECT_THAT(left.result.reason, HasSubstr("3"));
    const auto next = co_await run(node, "typeof left");
    EXPECT_EQ(next.value, "undefined");
    EXPECT_TRUE(next.result.fresh);
  });
}

TEST_F(JavaScriptContextTest, VariablesOfACell_AreGoneAfterIt) {
  with_node([](JavaScriptContext& node) -> Task<> {
    CellRequest request;
    request.code = "process.env.ONLY_NOW";
    request.env = {{"ONLY_NOW", "yes"}};
    const auto during = co_await run(node, std::move(request));
    EXPECT_EQ(during.value, "yes");
    const auto after = co_await run(node, "typeof process.env.ONLY_NOW");
    EXPECT_EQ(after.value, "undefined");
  });
}

TEST_F(JavaScriptContextTest, Input_IsRefused) {
  with_node([](JavaScriptContext& node) -> Task<> {
    CellRequest request;
    request.code = "1";
    request.input = "text";
    const OutputSink no_sink;
    auto ran = co_await node.execute(std::move(request), no_sink, Deadline::after(60s));
    EXPECT_TRUE(!ran && ran.error().code == ErrorCode::invalid_argument);
  });
}

}  // namespace
}  // namespace cloche
