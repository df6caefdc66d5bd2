// Rich results of Python cells, in a sandbox of the fake backend.
#include <boost/json/parse.hpp>
#include <vector>

#include "context/python_context.hpp"
#include "context/testing/context_fixture.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

struct Shown {
  CellResult result;
  std::vector<boost::json::value> displays;

  const boost::json::value& form(std::size_t index, std::string_view type) const {
    return displays.at(index).at("forms").at(boost::json::string_view(type.data(), type.size()));
  }
};

class RichResultsTest : public ContextFixture {
 protected:
  void with_python(std::function<Task<>(PythonContext&)> body) {
    in_sandbox([body](LiveSandbox& sandbox) -> Task<> {
      PythonContextOptions options;
      options.results = CellResults::rich;
      auto opened = co_await PythonContext::open(sandbox, std::move(options), Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (!opened) co_return;
      co_await body(**opened);
      co_await (*opened)->close();
    });
  }

  static Task<Shown> run(PythonContext& python, CellRequest request) {
    Shown shown;
    request.wall_limit = 60s;
    request.display = [&](const std::string& text) { shown.displays.push_back(boost::json::parse(text)); };
    const OutputSink no_sink;
    auto ran = co_await python.execute(std::move(request), no_sink, Deadline::after(90s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (ran) shown.result = std::move(*ran);
    co_return shown;
  }
  static Task<Shown> run(PythonContext& python, std::string code) {
    CellRequest request;
    request.code = std::move(code);
    return run(python, std::move(request));
  }
};

TEST_F(RichResultsTest, ValueOfACell_IsShownInAllItsForms) {
  with_python([](PythonContext& python) -> Task<> {
    const auto shown = co_await run(python,
                                    "class A:\n  def _repr_html_(self): return '<b>x</b>'\n"
                                    "  def _repr_png_(self): return b'hi'\n  def _repr_latex_(self): 1/0\n"
                                    "  def __repr__(self): return 'A!'\ndisplay(A())\nA()");
    EXPECT_THAT(shown.displays, SizeIs(2));
    if (shown.displays.size() != 2) co_return;
    EXPECT_EQ(shown.displays[0].at("main"), false);
    EXPECT_EQ(shown.displays[1].at("main"), true);
    EXPECT_EQ(shown.form(1, "text/plain"), "A!");
    EXPECT_EQ(shown.form(1, "text/html"), "<b>x</b>");
    EXPECT_EQ(shown.form(1, "image/png"), "aGk=");
    EXPECT_FALSE(shown.displays[1].at("forms").as_object().contains("text/latex")) << "a form that fails is left out";
    const auto text = co_await run(python, "'abc'");
    EXPECT_EQ(text.form(0, "text/plain"), "abc") << "a text is shown without quotes";
    const auto quiet = co_await run(python, "5;");
    EXPECT_THAT(quiet.displays, IsEmpty());
  });
}

TEST_F(RichResultsTest, OutputBeforeAResult_ComesBeforeIt) {
  with_python([](PythonContext& python) -> Task<> {
    std::string printed;
    std::vector<std::string> printed_before;
    CellRequest request;
    request.code = "print('one')\ndisplay(1)\nprint('two')\ndisplay(2)\nprint('three')";
    request.display = [&](const std::string&) { printed_before.push_back(printed); };
    const OutputSink sink = [&](const Output& piece) { printed += piece.bytes; };
    auto ran = co_await python.execute(std::move(request), sink, Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_THAT(printed_before, ElementsAre(StartsWith("one\n"), StartsWith("one\ntwo\n")));
    EXPECT_EQ(printed, "one\ntwo\nthree\n");
  });
}

TEST_F(RichResultsTest, SourceOfANotebook_Runs) {
  with_python([](PythonContext& python) -> Task<> {
    const auto indented = co_await run(python, "\n    x = 20\n    if x:\n        x += 1\n    x * 2");
    EXPECT_EQ(indented.form(0, "text/plain"), "42");
    const auto shell = co_await run(python, "!echo $((40 + 2))\nif True:\n    !echo inner");
    EXPECT_EQ(shell.result.out, "42\ninner\n");
    const auto script = co_await run(python, "%%bash\nfor i in 1 2; do echo $i; done");
    EXPECT_EQ(script.result.out, "1\n2\n");
    const auto moved = co_await run(python, "%cd /tmp\nimport os\nos.getcwd()");
    EXPECT_EQ(moved.form(0, "text/plain"), "/tmp");
    const auto plain = co_await run(python, "y = 7\ny %3");
    EXPECT_EQ(plain.form(0, "text/plain"), "1") << "valid Python is not changed";
    const auto wrong = co_await run(python, "this =");
    EXPECT_EQ(wrong.result.error.value_or(CellError{}).type, "SyntaxError");
    const auto magic = co_await run(python, "%nonsense");
    EXPECT_THAT(magic.result.error.value_or(CellError{}).message, HasSubstr("%nonsense"));
  });
}

TEST_F(RichResultsTest, VariablesOfACell_AreGoneAfterIt) {
  with_python([](PythonContext& python) -> Task<> {
    CellRequest request;
    request.code =
        "import os, subprocess\nos.environ['ONLY_NOW'], subprocess.check_output('echo -n $HOME', shell=True)";
    request.env = {{"ONLY_NOW", "yes"}, {"HOME", "/elsewhere"}};
    const auto during = co_await run(python, std::move(request));
    EXPECT_EQ(during.form(0, "text/plain"), "('yes', b'/elsewhere')");
    const auto after = co_await run(python, "os.environ.get('ONLY_NOW'), os.environ['HOME'] == '/elsewhere'");
    EXPECT_EQ(after.form(0, "text/plain"), "(None, False)");
  });
}

TEST_F(RichResultsTest, ResultThatIsTooLarge_IsCutToItsText) {
  with_python([](PythonContext& python) -> Task<> {
    const auto shown = co_await run(
        python,
        "class Big:\n  def _repr_html_(self): return 'x' * 7_000_000\n  def __repr__(self): return 'big'\nBig()");
    EXPECT_THAT(shown.displays, SizeIs(1));
    if (shown.displays.size() != 1) co_return;
    EXPECT_EQ(shown.displays[0].at("cut"), true);
    EXPECT_EQ(shown.form(0, "text/plain"), "big");
    const auto next = co_await run(python, "1");
    EXPECT_EQ(next.form(0, "text/plain"), "1") << "the context lives";
  });
}

TEST_F(RichResultsTest, FloodOfResults_EndsAtTheCap) {
  with_python([](PythonContext& python) -> Task<> {
    std::uint64_t bytes = 0;
    CellRequest request;
    request.code = "class B:\n  def _repr_html_(self): return 'x' * 1_000_000\nfor i in range(50): display(B())";
    request.caps.keep_displays = mib(8);
    request.display = [&](const std::string& text) { bytes += text.size(); };
    const OutputSink no_sink;
    auto ran = co_await python.execute(std::move(request), no_sink, Deadline::after(90s));
    EXPECT_TRUE(ran && ran->ending == ContextEnding::ok);
    EXPECT_GT(bytes, mib(6).count);
    EXPECT_LE(bytes, mib(8).count);
  });
}

TEST_F(RichResultsTest, ForkedProcess_PrintsWhatItShows) {
  with_python([](PythonContext& python) -> Task<> {
    const auto shown = co_await run(
        python,
        "import os\npid = os.fork()\nif pid == 0:\n  display('child')\n  os._exit(0)\nos.waitpid(pid, 0)\nNone");
    EXPECT_THAT(shown.displays, IsEmpty());
    EXPECT_THAT(shown.result.out, HasSubstr("child"));
  });
}

TEST_F(RichResultsTest, NamesOfIPython_ShowContentOfTheirKind) {
  with_python([](PythonContext& python) -> Task<> {
    const auto shown = co_await run(python,
                                    "from IPython.display import display, HTML, Image, Markdown\n"
                                    "display({'text/latex': r'\\text{x}'}, raw=True)\ndisplay(HTML('<b>x</b>'))\n"
                                    "display(Image(data=b'\\x89PNG'))\nMarkdown('*x*')");
    EXPECT_FALSE(shown.result.error) << shown.result.error->message;
    EXPECT_THAT(shown.displays, SizeIs(4));
    if (shown.displays.size() != 4) co_return;
    EXPECT_THAT(shown.displays[0].at("forms").as_object(), SizeIs(1)) << "raw forms are shown as they are";
    EXPECT_EQ(shown.form(0, "text/latex"), "\\text{x}");
    EXPECT_EQ(shown.form(1, "text/html"), "<b>x</b>");
    EXPECT_EQ(shown.form(2, "image/png"), "iVBORw==");
    EXPECT_EQ(shown.form(3, "text/markdown"), "*x*");
  });
}

TEST_F(RichResultsTest, LibraryThatLooksForIPython_FindsNoStandIn) {
  with_python([](PythonContext& python) -> Task<> {
    const auto shown = co_await run(python,
                                    "import importlib.util, sys\nopen('looks_for_it.py', 'w').write(\n"
                                    "'try:\\n  import IPython\\n  found = IPython.__version__\\nexcept ImportError:\\n"
                                    "  found = None\\n')\nimport looks_for_it\nlooks_for_it.found == '0.0.0'");
    EXPECT_FALSE(shown.result.error) << shown.result.error->message;
    EXPECT_EQ(shown.form(0, "text/plain"), "False");
  });
}

TEST_F(RichResultsTest, ImagesOfPillow_AreShownWhenACellShowsOrSavesThem) {
  with_python([](PythonContext& python) -> Task<> {
    const auto has = co_await run(python, "from PIL import Image\nimage = Image.new('RGB', (4, 4))");
    if (has.result.error) {
      testing_support::note_missing("Pillow", has.result.error->message);
      co_return;
    }
    const auto shown =
        co_await run(python, "image.show()\nimage.save('saved.png')\nprint(Image.open('saved.png').size)");
    EXPECT_THAT(shown.displays, SizeIs(2));
    if (shown.displays.size() != 2) co_return;
    EXPECT_THAT(std::string(shown.form(0, "image/png").as_string()), StartsWith("iVBOR"));
    EXPECT_THAT(std::string(shown.form(1, "image/png").as_string()), StartsWith("iVBOR"));
    EXPECT_EQ(shown.result.out, "(4, 4)\n");
  });
}

TEST_F(RichResultsTest, Figures_AreImagesAndCharts) {
  with_python([](PythonContext& python) -> Task<> {
    const auto has = co_await run(python, "import matplotlib.pyplot as plt\nimport datetime");
    if (has.result.error) {
      testing_support::note_missing("matplotlib", has.result.error->message);
      co_return;
    }
    const auto drawn =
        co_await run(python,
                     "plt.plot([datetime.date(2023, 9, 1), datetime.date(2023, 9, 2)], [1, 2.5], label='s')\n"
                     "plt.xlabel('Time (s)'); plt.title('Lines'); plt.show()\n"
                     "plt.bar(['a', 'b'], [1, 2]); plt.show()\n"
                     "plt.pie([90, 10], labels=['No', 'Yes'], startangle=90); plt.show()\n"
                     "plt.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]], labels=['A', 'B']); plt.show()\n"
                     "fig, axes = plt.subplots(1, 2); fig.suptitle('Both')\n"
                     "axes[0].plot([1, 2], ['x', 'y']); axes[1].scatter([1, 2], [float('nan'), 3]);");
    EXPECT_EQ(drawn.displays.size(), 5u) << drawn.result.err;
    if (drawn.displays.size() != 5) co_return;
    const auto chart = [&](std::size_t i) { return drawn.form(i, "application/vnd.cloche.chart+json"); };
    EXPECT_GT(drawn.form(0, "image/png").as_string().size(), 1000u);
    EXPECT_EQ(chart(0).at("type"), "line");
    EXPECT_EQ(chart(0).at("x_scale"), "datetime");
    EXPECT_EQ(chart(0).at("x_unit"), "s");
    EXPECT_EQ(chart(0).at("elements").at(0).at("label"), "s");
    EXPECT_EQ(chart(0).at("elements").at(0).at("points").at(0).at(0), "2023-09-01T00:00:00+00:00");
    EXPECT_EQ(chart(1).at("type"), "bar");
    EXPECT_EQ(chart(1).at("elements").at(1).at("label"), "b");
    EXPECT_EQ(chart(1).at("elements").at(1).at("value"), 2);
    EXPECT_EQ(chart(2).at("type"), "pie");
    EXPECT_EQ(chart(2).at("elements").at(0).at("angle"), 324);
    EXPECT_EQ(chart(3).at("type"), "box_and_whisker");
    EXPECT_EQ(chart(3).at("elements").at(1).at("outliers"), (boost::json::array{76}));
    EXPECT_EQ(chart(3).at("elements").at(1).at("first_quartile"), 84.75);
    EXPECT_EQ(chart(4).at("type"), "superchart");
    EXPECT_EQ(chart(4).at("title"), "Both");
    EXPECT_EQ(chart(4).at("elements").at(0).at("y_scale"), "categorical");
    EXPECT_TRUE(chart(4).at("elements").at(1).at("elements").at(0).at("points").at(0).at(1).is_null());
    EXPECT_EQ(drawn.result.err, "");
  });
}

}  // namespace
}  // namespace cloche
