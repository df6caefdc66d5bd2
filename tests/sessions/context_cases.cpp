// The named contexts of a session, over every backend and runtime.
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "session/contexts.hpp"
#include "sessions/with_store.hpp"

namespace cloche {

namespace {

using session::ContextCall;
using session::ContextInfo;
using session::ContextLanguage;
using session::ContextResult;
using session::Contexts;
using session::EndMode;
using session::SessionStore;
using session::SessionUse;
using testing::ElementsAre;

ContextCall call(std::string context, std::string language, std::string code) {
  ContextCall made;
  made.context = std::move(context);
  made.language = std::move(language);
  made.code = std::move(code);
  made.timeout = 60s;
  return made;
}

struct Ran : ContextResult {
  std::string out;
};

Task<Result<Ran>> attempt(Contexts& contexts, ContextCall wanted) {
  Ran ended;
  OutputSink sink = [&](const Output& piece) {
    if (piece.stream == Stream::out) ended.out += piece.bytes;
  };
  auto ran = co_await contexts.run(std::move(wanted), std::move(sink), soon());
  if (!ran) co_return fail(std::move(ran).error());
  static_cast<ContextResult&>(ended) = std::move(*ran);
  co_return ended;
}

Task<Ran> run_call(Contexts& contexts, ContextCall wanted) {
  auto ran = co_await attempt(contexts, std::move(wanted));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran ? std::move(*ran) : Ran{};
}

Task<Ran> run_named(Contexts& contexts, std::string context, std::string language, std::string code) {
  return run_call(contexts, call(std::move(context), std::move(language), std::move(code)));
}

Task<Ran> python(Contexts& contexts, std::string code) {
  return run_named(contexts, "main", "python", std::move(code));
}

Task<Ran> bash(Contexts& contexts, std::string code) { return run_named(contexts, "shell", "bash", std::move(code)); }

Task<ErrorCode> failure(Contexts& contexts, ContextCall wanted) {
  auto ran = co_await attempt(contexts, std::move(wanted));
  EXPECT_FALSE(ran);
  co_return ran ? ErrorCode::internal : ran.error().code;
}

Task<ErrorCode> failure_of(Contexts& contexts, std::string context, std::string language, std::string code) {
  return failure(contexts, call(std::move(context), std::move(language), std::move(code)));
}

std::vector<std::string> paths(const ContextResult& result) {
  std::vector<std::string> all;
  for (const auto& artifact : result.artifacts.artifacts) all.push_back(artifact.path);
  return all;
}

}  // namespace

class SessionContexts : public WithStore {
 protected:
  void in_session(std::function<Task<>(SessionStore&, SessionUse&)> body) {
    StoreSetup setup;
    setup.profile = profile(1, 2);
    setup.profile->sandbox.limits.memory = mib(512);
    setup.profile->sandbox.limits.pids = 128;
    setup.profile->env["COLOUR"] = "red";
    in_store(std::move(setup), [&](pool::Manager&, SessionStore& store) -> Task<> {
      auto used = co_await store.use(tenant(), "s1", soon());
      EXPECT_TRUE(used) << used.error().message;
      if (used) co_await body(store, *used);
    });
  }

  void with_contexts(std::function<Task<>(Contexts&)> body) {
    in_session([body](SessionStore&, SessionUse& session) -> Task<> { co_await body(session->part<Contexts>()); });
  }
};

TEST_P(SessionContexts, CallsOfOneName_FindEachOthersState) {
  with_contexts([](Contexts& contexts) -> Task<> {
    const auto first =
        co_await python(contexts, "import os\nx = 20\nopen('made.txt', 'w').write('hi')\nprint('out')\nx + 1");
    EXPECT_TRUE(first.fresh);
    EXPECT_EQ(first.category, Category::success);
    EXPECT_EQ(first.value, "21");
    EXPECT_EQ(first.out, "out\n");
    EXPECT_THAT(paths(first), ElementsAre("made.txt"));
    const auto second = co_await python(contexts, "x * 2, os.environ['COLOUR'], os.listdir()");
    EXPECT_FALSE(second.fresh);
    EXPECT_EQ(second.value, "(40, 'red', ['made.txt'])");
    EXPECT_THAT(paths(second), ElementsAre());
    const auto other = co_await run_named(contexts, "other", "py", "'x' in globals()");
    EXPECT_EQ(other.value, "False");
    const auto moved = co_await bash(contexts, "mkdir d; cd d; y='a b'; echo $COLOUR; (exit 7)");
    EXPECT_EQ(moved.out, "red\n");
    EXPECT_EQ(moved.outcome.exit_code, 7);
    EXPECT_EQ(moved.category, Category::runtime_error);
    EXPECT_EQ(moved.cause, Cause::exit_code);
    const auto there = co_await bash(contexts, "basename $PWD; echo \"$y\"; echo x > new.txt");
    EXPECT_EQ(there.out, "d\na b\n");
    EXPECT_THAT(paths(there), ElementsAre("d/new.txt"));
    EXPECT_FALSE(there.fresh);
    for (const char* language : {"bash", "python"}) {
      ContextCall reads = call(language, language, "read -r x; echo $x; cat");
      if (language == std::string("python")) reads.code = "import sys; print(input()); print(sys.stdin.read(), end='')";
      reads.input = "one\\\ntwo";
      const auto read = co_await run_call(contexts, std::move(reads));
      EXPECT_EQ(read.out, "one\\\ntwo") << language;
    }
  });
}

TEST_P(SessionContexts, CodeThatPlots_FiguresAreArtifactsWithAContextAndWithout) {
  if (target().backend == "docker") CLOCHE_DOES_NOT_APPLY("the test's image has no matplotlib");
  in_session([](SessionStore&, SessionUse& session) -> Task<> {
    const std::string code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.bar([1], [2])\n";
    session::RunRequest request;
    session::Code python_code;
    python_code.language = "python";
    python_code.text = code;
    request.what = std::move(python_code);
    request.timeout = 60s;
    session::RunObserver observer;
    auto plain =
        co_await session::run_in_session(*session, languages(), std::move(request), std::move(observer), soon());
    EXPECT_TRUE(plain) << plain.error().message;
    if (!plain) co_return;
    EXPECT_EQ(plain->category, Category::success) << plain->reason;
    EXPECT_EQ(plain->artifacts.artifacts.size(), 2u);
    const auto cell = co_await python(session->part<Contexts>(), code);
    EXPECT_EQ(cell.category, Category::success) << cell.reason;
    EXPECT_EQ(cell.artifacts.artifacts.size(), 2u);
    for (const auto& list : {plain->artifacts, cell.artifacts}) {
      for (const auto& artifact : list.artifacts) {
        EXPECT_TRUE(artifact.path.starts_with("figures/")) << artifact.path;
        EXPECT_EQ(artifact.content_type, "image/png");
        EXPECT_GT(artifact.size, 1000u);
      }
    }
  });
}

TEST_P(SessionContexts, CallThatFails_SaysHowAndWhatBecameOfTheState) {
  with_contexts([](Contexts& contexts) -> Task<> {
    const auto raised = co_await python(contexts, "x = 1\nx / 0");
    EXPECT_EQ(raised.category, Category::runtime_error);
    EXPECT_EQ(raised.error->type, "ZeroDivisionError");
    EXPECT_EQ(raised.reason, "ZeroDivisionError: division by zero");
    ContextCall endless = call("main", "python", "print('on')\nwhile True: pass");
    endless.timeout = 500ms;
    const auto slow = co_await run_call(contexts, std::move(endless));
    EXPECT_EQ(slow.category, Category::timeout);
    EXPECT_EQ(slow.outcome.exit_code, 124);
    EXPECT_EQ(slow.out, "on\n");
    EXPECT_EQ(slow.state, ContextState::kept);
    const auto gone = co_await python(contexts, "import os; os._exit(3)");
    EXPECT_EQ(gone.category, Category::runtime_error);
    EXPECT_EQ(gone.outcome.exit_code, 3);
    EXPECT_EQ(gone.state, ContextState::lost);
    const auto anew = co_await python(contexts, "'x' in globals()");
    EXPECT_TRUE(anew.fresh);
    EXPECT_EQ(anew.value, "False");
    const auto left = co_await bash(contexts, "z=1; exit 9");
    EXPECT_EQ(left.state, ContextState::handed_over);
    const auto kept = co_await bash(contexts, "echo $z");
    EXPECT_EQ(kept.out, "1\n");
  });
}

TEST_P(SessionContexts, NamesLanguagesAndNumber_AreChecked) {
  with_contexts([](Contexts& contexts) -> Task<> {
    for (const char* name : {"", "..", "a/b", "a b"}) {
      const auto code = co_await failure_of(contexts, name, "python", "1");
      EXPECT_EQ(code, ErrorCode::invalid_argument) << name;
    }
    const auto ruby = co_await failure_of(contexts, "main", "ruby", "1");
    EXPECT_EQ(ruby, ErrorCode::invalid_argument);
    EXPECT_EQ(contexts.list().size(), 0u) << "what could not be made takes no room";
    (void)co_await python(contexts, "1");
    const auto taken = co_await failure_of(contexts, "main", "bash", "echo");
    EXPECT_EQ(taken, ErrorCode::already_exists);
    session::ContextOptions usual;
    auto again = co_await contexts.create("main", std::move(usual), soon());
    EXPECT_TRUE(!again && again.error().code == ErrorCode::already_exists);
    for (std::size_t i = 1; i < Contexts::most; ++i) {
      session::ContextOptions bash{.language = session::ContextLanguage::bash};
      auto made = co_await contexts.create("c" + std::to_string(i), std::move(bash), soon());
      EXPECT_TRUE(made) << made.error().message;
    }
    const auto many = co_await failure_of(contexts, "one-more", "python", "1");
    EXPECT_EQ(many, ErrorCode::limit_reached);
    auto closed = co_await contexts.close("c1");
    EXPECT_TRUE(closed) << closed.error().message;
    auto unknown = co_await contexts.close("c1");
    EXPECT_TRUE(!unknown && unknown.error().code == ErrorCode::not_found);
    const auto one_more = co_await run_named(contexts, "one-more", "python", "1");
    EXPECT_EQ(one_more.value, "1");
    EXPECT_EQ(contexts.list().size(), Contexts::most);
    EXPECT_FALSE(contexts.busy());
  });
}

TEST_P(SessionContexts, RestartedContext_IsEmptyAndOneThatWasClosedIsFresh) {
  with_contexts([](Contexts& contexts) -> Task<> {
    (void)co_await python(contexts, "x = 1");
    auto restarted = co_await contexts.restart("main", soon());
    EXPECT_TRUE(restarted) << restarted.error().message;
    if (restarted) {
      EXPECT_TRUE(restarted->alive);
    }
    const auto empty = co_await python(contexts, "'x' in globals()");
    EXPECT_EQ(empty.value, "False");
    EXPECT_FALSE(empty.fresh) << "who restarts it knows";
    auto closed = co_await contexts.close("main");
    EXPECT_TRUE(closed);
    auto unknown = co_await contexts.restart("main", soon());
    EXPECT_TRUE(!unknown && unknown.error().code == ErrorCode::not_found);
    const auto anew = co_await bash(contexts, "echo on");
    EXPECT_TRUE(anew.fresh);
  });
}

TEST_P(SessionContexts, CallsBesideEachOther_GoInOrderAndHaveTheirOwnArtifacts) {
  with_contexts([](Contexts& contexts) -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    auto [one, two] = co_await (python(contexts, "import time; n = [1]; time.sleep(0.3); open('one', 'w').close()") &&
                                python(contexts, "n.append(2); open('two', 'w').close(); n"));
    EXPECT_TRUE(one.fresh);
    EXPECT_FALSE(two.fresh);
    EXPECT_EQ(two.value, "[1, 2]");
    EXPECT_THAT(paths(one), ElementsAre("one"));
    EXPECT_THAT(paths(two), ElementsAre("two"));
    std::string heard;
    OutputSink listener = [&](const Output& piece) { heard += piece.bytes; };
    ContextCall prints = call("main", "python", "print('heard')");
    auto told = co_await contexts.run(std::move(prints), std::move(listener), soon());
    EXPECT_TRUE(told);
    EXPECT_EQ(heard, "heard\n");
    const auto impatient = [&]() -> Task<> {
      OutputSink no_sink;
      ContextCall late = call("main", "python", "n.append(9)");
      auto ran = co_await contexts.run(std::move(late), std::move(no_sink), Deadline::after(100ms));
      EXPECT_TRUE(!ran && ran.error().code == ErrorCode::timeout);
    };
    auto slow = co_await (python(contexts, "time.sleep(0.5); n") && impatient());
    EXPECT_EQ(slow.value, "[1, 2]");
    const auto after = co_await python(contexts, "n");
    EXPECT_EQ(after.value, "[1, 2]") << "a call that waited in vain is not run";
  });
}

TEST_P(SessionContexts, ContextClosedOrSessionCutUnderACall_CallFailsAndNothingIsLeft) {
  in_session([this](SessionStore& store, SessionUse& session) -> Task<> {
    Contexts& contexts = session->part<Contexts>();
    const auto executor = co_await asio::this_coro::executor;
    Event printed(executor);
    bool on = false;
    const auto endless = [&]() -> Task<> {
      OutputSink listener = [&](const Output&) {
        on = true;
        printed.notify();
      };
      ContextCall wanted = call("main", "python", "print('on')\nwhile True: pass");
      auto ran = co_await contexts.run(std::move(wanted), std::move(listener), soon());
      EXPECT_FALSE(ran);
    };
    const auto waits = [&]() -> Task<> {
      while (!on) co_await printed.wait();
      const auto waiting = co_await failure_of(contexts, "main", "python", "1");
      EXPECT_EQ(waiting, ErrorCode::cancelled);
    };
    const auto closes = [&]() -> Task<> {
      while (!on) co_await printed.wait();
      EXPECT_TRUE(contexts.busy());
      auto closed = co_await contexts.close("main");
      EXPECT_TRUE(closed);
    };
    using asio::experimental::awaitable_operators::operator&&;
    co_await (endless() && waits() && closes());
    EXPECT_FALSE(contexts.busy());
    const std::string left = co_await shell(session->lease(), "cat /proc/[0-9]*/comm | grep -c '^python'");
    EXPECT_EQ(left, "0\n");
    on = false;
    const auto ends = [&]() -> Task<> {
      while (!on) co_await printed.wait();
      auto contexts_end = [&]() -> Task<> { co_await contexts.close(); };
      co_await contexts_end();
    };
    co_await (endless() && ends());
    const auto late = co_await failure_of(contexts, "main", "python", "1");
    EXPECT_EQ(late, ErrorCode::sandbox_lost) << "a session that ends takes no more calls";
    (void)store;
  });
}

TEST_P(SessionContexts, CallerThatGoesAway_LeavesTheContextUsable) {
  with_contexts([](Contexts& contexts) -> Task<> {
    const auto executor = co_await asio::this_coro::executor;
    Event printed(executor);
    bool on = false;
    TaskGroup callers(executor);
    callers.spawn("caller", [&]() -> Task<> {
      OutputSink listener = [&](const Output&) {
        on = true;
        printed.notify();
      };
      ContextCall wanted = call("main", "python", "x = 5\nprint('on')\nwhile True: pass");
      (void)co_await contexts.run(std::move(wanted), std::move(listener), soon());
    });
    while (!on) co_await printed.wait();
    co_await callers.shut_down();
    EXPECT_FALSE(contexts.busy());
    const auto after = co_await python(contexts, "x");
    EXPECT_EQ(after.value, "5");
    EXPECT_FALSE(after.fresh);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionContexts, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
