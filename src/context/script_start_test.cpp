// Plain Python scripts in a sandbox of the fake backend, with the real matplotlib.
#include "context/script_start.hpp"

#include "context/testing/context_fixture.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* directory = "/tmp/run";

class ScriptStart : public ContextFixture {
 protected:
  // How a script is started: by its own interpreter, forked from a zygote, or by an interpreter that replaces a zygote
  // which cannot do what is required.
  enum class By { interpreter, zygote, interpreter_for_zygote };

  void with_each_way(std::function<Task<>(LiveSandbox&, By)> body) {
    in_sandbox([body](LiveSandbox& sandbox) -> Task<> {
      auto files = sandbox.files();
      auto made = co_await files.make_directory(directory);
      EXPECT_TRUE(made) << made.error().message;
      std::vector<std::string> imports;
      auto warm = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
      EXPECT_TRUE(warm) << warm.error().message;
      co_await body(sandbox, By::interpreter);
      co_await body(sandbox, By::zygote);
      co_await body(sandbox, By::interpreter_for_zygote);
    });
  }

  static Task<Exec::Collected> run(LiveSandbox& sandbox, By by, std::string script) {
    auto files = sandbox.files();
    auto written = co_await files.write("/tmp/run/main.py", std::move(script));
    EXPECT_TRUE(written) << written.error().message;
    ExecSpec spec;
    spec.argv = {"/tmp/run/main.py", "one", "two words"};
    if (by == By::interpreter) {
      spec.argv.insert(spec.argv.begin(), {"python3", "-u"});
    } else {
      spec.zygote = "python";
    }
    if (by == By::interpreter_for_zygote) spec.env["PYTHONHASHSEED"] = "1";
    save_figures(spec, 2, "/workspace/figures/x-");
    auto ran = co_await sandbox.run(std::move(spec), Deadline::after(100s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? std::move(*ran) : Exec::Collected{};
  }

  static Task<std::string> look(LiveSandbox& sandbox, std::string line) {
    ExecSpec spec = ExecSpec::shell(std::move(line));
    auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? std::move(ran->out) : std::string();
  }
};

TEST_F(ScriptStart, FiguresShownAndLeftOpen_AreSavedOnce) {
  with_each_way([](LiveSandbox& sandbox, By by) -> Task<> {
    std::string script =
        "import matplotlib.pyplot as plt, os, sys\n"
        "plt.plot([1, 2, 3])\nplt.show()\n"
        "plt.figure()\nplt.plot([3, 2, 1])\n"
        "if os.fork() == 0: sys.exit(0)\nos.wait()\n"
        "raise ValueError('at the end')\n";
    const auto ran = co_await run(sandbox, by, std::move(script));
    EXPECT_EQ(ran.outcome.exit_code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("line 8, in <module>\n    raise ValueError('at the end')\nValueError: at the end"));
    EXPECT_THAT(ran.err, Not(HasSubstr("start"))) << "nothing tells of what stands in front";
    const std::string found =
        co_await look(sandbox,
                      "cd /workspace && ls -A && cd figures && for f in *; do echo $f $(head -c 4 "
                      "$f | tail -c 3); done; rm -r ../figures");
    EXPECT_EQ(found, "figures\nx-1.png PNG\nx-2.png PNG\n");
  });
}

TEST_F(ScriptStart, ScriptWithoutFigures_IsAsItWouldBeAlone) {
  with_each_way([](LiveSandbox& sandbox, By by) -> Task<> {
    std::string script =
        "import os, sys\nprint(sys.argv, __name__, __file__, sys.path[0], 'matplotlib' in sys.modules, os.getcwd())\n"
        "def f(): return x\nx = 5\nprint(f(), [k for k in [*globals(), *os.environ] if 'figures' in "
        "k.lower()])\nsys.exit(3)\n";
    const auto ran = co_await run(sandbox, by, std::move(script));
    EXPECT_EQ(ran.out,
              "['/tmp/run/main.py', 'one', 'two words'] __main__ /tmp/run/main.py /tmp/run False /workspace\n5 []\n");
    EXPECT_EQ(ran.outcome.exit_code, 3) << ran.err;
    const auto torn = co_await run(sandbox, by, "x = (\n");
    EXPECT_EQ(torn.outcome.exit_code, 1);
    EXPECT_TRUE(torn.err.starts_with("  File \"/tmp/run/main.py\", line 1\n")) << torn.err;
    const auto left = co_await look(sandbox, "ls /workspace");
    EXPECT_EQ(left, "");
  });
}

}  // namespace
}  // namespace cloche
