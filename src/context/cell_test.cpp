#include "context/cell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CellRequest, OddCodeAndInput_TravelAsOneLineAndThenBytes) {
  CellRequest request;
  request.code = "print('\n\"ü')";
  request.input = std::string("a\nb\0", 4);
  CellFrame frame;
  frame.id = "0a";
  frame.interrupts = 2;
  frame.figure_prefix = "/w/f-";
  EXPECT_EQ(to_driver_input(request, frame),
            R"j({"id":"0a","code":"print('\n\"ü')","interrupts":2,"figures":"/w/f-","most_figures":20,"input":4})j"
            "\na\nb" +
                std::string(1, '\0'));
  request.input.reset();
  EXPECT_TRUE(to_driver_input(request, frame).ends_with("20}\n"));
}

TEST(CellRequest, ThatMakesNoSense_IsRefused) {
  CellRequest request;
  EXPECT_TRUE(validate(request));
  request.code = "\xff";
  EXPECT_FALSE(validate(request));
  request.code = std::string(mib(4).count + 1, ' ');
  EXPECT_FALSE(validate(request));
  request.code = "1";
  request.wall_limit = std::chrono::milliseconds(0);
  EXPECT_FALSE(validate(request));
}

TEST(CellReport, Whole_IsTaken) {
  CellResult result;
  const char* report =
      R"({"value": "42", "value_cut": true, "exit_code": 3, "error": {"type": "E", "message": "m", "traceback": "t"},
          "figures": ["/w/f-1.png", "/w/f-12.png"], "figures_left_out": 2})";
  auto taken = take_report(report, "/w/f-", result);
  EXPECT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(result.value, "42");
  EXPECT_TRUE(result.value_cut);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.error, (CellError{"E", "m", "t"}));
  EXPECT_THAT(result.figures, ElementsAre("/w/f-1.png", "/w/f-12.png"));
  EXPECT_EQ(result.figures_left_out, 2u);
}

TEST(CellReport, FiguresElsewhere_AreNotBelieved) {
  CellResult result;
  const char* report =
      R"({"figures": ["/etc/passwd", "/w/f-../../x.png", "/w/f-.png", "/w/f-1.png/../x.png", "/w/f-1x.png", "/w/f-1", 5,
          null, "/w/f-1.png\u0000", "w/f-1.png"]})";
  EXPECT_TRUE(take_report(report, "/w/f-", result));
  EXPECT_THAT(result.figures, IsEmpty());
}

TEST(CellReport, OfTheWrongShape_IsRefusedOrEmpty) {
  for (const char* report : {"", "[]", "1", "{", "{\"value\": \"\xff\"}", "{\"a\":[[[[[[[[[[1]]]]]]]]]]}"}) {
    CellResult result;
    EXPECT_FALSE(take_report(report, "/w/f-", result)) << report;
  }
  CellResult result;
  EXPECT_TRUE(
      take_report(R"({"value": 1, "error": "x", "figures": {}, "exit_code": 1.5, "value_cut": 1})", "", result));
  EXPECT_FALSE(result.value || result.error || result.exit_code || result.value_cut);
}

}  // namespace
}  // namespace cloche
