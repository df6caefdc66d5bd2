#include "config/section.hpp"

#include <gmock/gmock.h>

namespace cloche::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

// Reads a text with `read` and gives the error, or nothing.
std::string error_of(std::string_view text, const Section::Reader& read) {
  const YamlNode root = parse_yaml(text, "f.yml").value();
  ConfigErrors errors("f.yml");
  Section top(errors, root, "", 1);
  read(top);
  top.finish();
  const auto status = errors.status();
  return status ? "" : status.error().message;
}

enum class Colour { red, green };

TEST(Section, KeysThatAreThere_AreRead) {
  std::string text = "old";
  std::uint32_t number = 1;
  double real = 0;
  std::chrono::milliseconds duration{};
  Bytes size;
  Colour colour = Colour::red;
  std::vector<std::string> list{"old"};
  std::map<std::string, std::string> map{{"old", "stays"}, {"a", "0"}};
  EXPECT_EQ(error_of("text: 12\nnumber: 12\nreal: 0.5\nduration: 1.5\nsize: 64MiB\ncolour: green\n"
                     "list: [a, 1]\nmap: {a: 1, b: 'yes'}\n",
                     [&](Section& top) {
                       top.text("text", text);
                       top.whole("number", number, {1, 12});
                       top.real("real", real);
                       top.duration("duration", duration, {});
                       top.size("size", size);
                       top.choice("colour", colour, {{"red", Colour::red}, {"green", Colour::green}});
                       top.texts("list", list);
                       top.texts("map", map);
                     }),
            "");
  EXPECT_EQ(text, "12");
  EXPECT_EQ(number, 12U);
  EXPECT_EQ(real, 0.5);
  EXPECT_EQ(duration, 1500ms);
  EXPECT_EQ(size, mib(64));
  EXPECT_EQ(colour, Colour::green);
  EXPECT_THAT(list, ElementsAre("a", "1"));
  EXPECT_THAT(map, ElementsAre(Pair("a", "1"), Pair("b", "yes"), Pair("old", "stays")));
}

TEST(Section, KeysThatAreNotThere_LeaveTheValue) {
  std::string text = "old";
  std::uint32_t number = 7;
  int sections = 0;
  EXPECT_EQ(error_of("",
                     [&](Section& top) {
                       top.text("text", text);
                       top.whole("number", number, {100, 200});
                       top.section("section", [&](Section&) { ++sections; });
                       top.list("list", [&](Section&) { ++sections; });
                     }),
            "");
  EXPECT_EQ(text, "old");
  EXPECT_EQ(number, 7U);
  EXPECT_EQ(sections, 0);
}

TEST(Section, EmptySection_IsReadAsOneWithoutKeys) {
  int sections = 0;
  EXPECT_EQ(error_of("section:\n", [&](Section& top) { top.section("section", [&](Section&) { ++sections; }); }), "");
  EXPECT_EQ(sections, 1);
}

TEST(Section, SeveralErrors_YieldTheFirstInTheFile) {
  EXPECT_EQ(error_of("a: 1\nb: x\nc: y\nd: z\n",
                     [](Section& top) {
                       std::uint32_t n = 0;
                       top.whole("d", n, {});
                       top.whole("c", n, {});
                       top.text("a", *std::make_unique<std::string>());
                     }),
            "f.yml: unknown key `b` (line 2) at the top level; known keys: a, c, d");
}

TEST(Section, DeepKey_IsNamedByItsWholePath) {
  EXPECT_EQ(error_of("a:\n  b:\n  - c: 1\n  - {c: 1,\n     d: x}\n",
                     [](Section& top) {
                       top.section("a", [](Section& a) {
                         a.list("b", [](Section& item) {
                           std::uint32_t n = 0;
                           item.whole("c", n, {});
                           item.whole("d", n, {});
                         });
                       });
                     }),
            "f.yml: a.b[1].d (line 5): must be a whole number from 0 to 4294967295, not `x`");
}

TEST(Section, NameThatIsNoWord_StandsInBrackets) {
  EXPECT_EQ(error_of("map:\n  /a.b: []\n",
                     [](Section& top) {
                       std::map<std::string, std::string> map;
                       top.texts("map", map);
                     }),
            "f.yml: map[`/a.b`] (line 2): must be a string, not a list");
}

TEST(Section, Part_KeepsWhatIsBelowUnread) {
  std::optional<Part> part;
  EXPECT_EQ(error_of("a: 1\nb:\n  c: 2\n",
                     [&](Section& top) {
                       std::string text;
                       top.text("a", text);
                       part = top.part("b");
                     }),
            "");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->file, "f.yml");
  EXPECT_EQ(part->path, "b");
  EXPECT_EQ(part->line, 2);
  EXPECT_EQ(part->node.keys[0].text, "c");
}

}  // namespace
}  // namespace cloche::config
