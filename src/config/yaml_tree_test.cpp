#include "config/yaml_tree.hpp"

#include <gmock/gmock.h>

namespace cloche::config {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto tree = parse_yaml(text, "f.yml");
  if (tree) return "none";
  EXPECT_EQ(tree.error().code, ErrorCode::invalid_argument);
  return tree.error().message;
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(ParseYaml, Document_IsATreeWithLines) {
  const auto tree =
      parse_yaml("\xef\xbb\xbf# a comment\r\na: 1\r\nb: [x, \"2\", ~]\r\nc:\r\n  d: {e: f}\r\n", "f.yml").value();
  ASSERT_EQ(tree.kind, YamlNode::Kind::map);
  ASSERT_EQ(tree.keys.size(), 3U);
  EXPECT_EQ(tree.keys[0].text, "a");
  EXPECT_EQ(tree.keys[0].line, 2);
  EXPECT_EQ(tree.items[0].text, "1");
  EXPECT_FALSE(tree.items[0].quoted);
  EXPECT_EQ(tree.items[1].kind, YamlNode::Kind::list);
  EXPECT_TRUE(tree.items[1].items[1].quoted);
  EXPECT_EQ(tree.items[1].items[2].kind, YamlNode::Kind::null);
  EXPECT_EQ(tree.keys[2].line, 4);
  EXPECT_EQ(tree.items[2].items[0].items[0].text, "f");
  EXPECT_EQ(tree.items[2].items[0].items[0].line, 5);
}

TEST(ParseYaml, NothingAtAll_IsNull) {
  for (const auto* text : {"", "\n\n", "# only a comment\n", "---\n", "~"}) {
    EXPECT_EQ(parse_yaml(text, "f.yml").value().kind, YamlNode::Kind::null) << text;
  }
}

TEST(ParseYaml, EndOfTheDocument_MayBeSaid) {
  for (const auto* text : {"a: 1\n...\n", "a: 1\n...", "---\na: 1\n...\r\n", "a: 1", "a: 1 # b"}) {
    const auto tree = parse_yaml(text, "f.yml");
    ASSERT_TRUE(tree) << tree.error().message;
    EXPECT_EQ(tree->items.at(0).text, "1");
  }
  EXPECT_EQ(parse_yaml("a: |\n  x\n\n", "f.yml").value().items.at(0).text, "x\n");
}

TEST(ParseYaml, Alias_IsReplacedByACopy) {
  const auto tree = parse_yaml("a: &x {k: [1, 2]}\nb: *x\nc: [*x, &y z, *y]\n", "f.yml").value();
  EXPECT_EQ(tree.items[1].items[0].items[1].text, "2");
  EXPECT_EQ(tree.items[1].line, 2);
  EXPECT_EQ(tree.items[2].items[0].keys[0].text, "k");
  EXPECT_EQ(tree.items[2].items[2].text, "z");
}

TEST(ParseYaml, BadDocument_IsRefusedWithItsLine) {
  const struct {
    std::string_view text, error;
  } cases[] = {
      {"a: 1\nb: 2\na: 3\n", "f.yml: line 3: key `a` is given twice, first at line 1"},
      {"a: {b: 1, \"b\": 2}", "f.yml: line 1: key `b` is given twice, first at line 1"},
      {"a: 1\n---\nb: 2\n", "f.yml: line 2: the file must contain exactly one YAML document"},
      {",", "the file must contain exactly one YAML document"},  // yaml-cpp never ends with this one
      {"a: !!int 3", "f.yml: line 1: tags are not supported: `tag:yaml.org,2002:int`"},
      {"a: !secret x", "tags are not supported: `!secret`"},
      {"a: !!map {}", "tags are not supported"},
      {"a: &x [*x]", "f.yml: line 1: an alias refers to a value that contains it"},
      {"a: *nowhere", "f.yml: line 1: not YAML: the referenced anchor is not defined"},
      {"b: &x {k: 1}\nc:\n  <<: *x", "f.yml: line 3: merge keys (`<<`) are not supported"},
      {"? [a, b]\n: c", "f.yml: line 1: a key must be a string, not a list or a map"},
      {"? {a: b}\n: c", "a key must be a string, not a list or a map"},
      {"~: c", "f.yml: line 1: a key must be a string"},
      {"a: 1\n  b: 2", "f.yml: line 2: not YAML: illegal map value"},
      {"a: [1, 2\n", "not YAML: end of sequence flow not found"},
      {"a: \"x\n\n", "not YAML: illegal document indicator in scalar"},
      {"a: 'x", "not YAML"},
      {"a: \"x\n", "not YAML: illegal document indicator in scalar"},
      {"a:\n\tb: 1\n", "not YAML"},
      {"@", "not YAML: unknown token"},
      {"%YAML 9.9\n---\na: 1", "not YAML"},
      {"a: \"x\\0y\"", "f.yml: line 1: a string contains NUL"},
      {"a: \"\\ud800\"", "not YAML: invalid unicode"},
      {"a: 1\nb: \0"sv, "f.yml: line 2: NUL byte"},
      {"a\0:\0 \0001\0"sv, "f.yml: line 1: NUL byte"},  // UTF-16
      {"a: 1\n\xff\xfe", "f.yml: line 2: not UTF-8: byte 0xff"},
      {"a: 1\x04"
       "b: 2",
       "f.yml: line 1: control character 0x04"},
  };
  for (const auto& test : cases) EXPECT_THAT(error_of(test.text), HasSubstr(test.error)) << test.text;
}

TEST(ParseYaml, TooMuch_IsRefused) {
  EXPECT_THAT(error_of(std::string(max_document.count + 1, ' ')), HasSubstr("f.yml: larger than 1 MiB"));
  EXPECT_THAT(error_of("a: " + repeated("[", 40) + repeated("]", 40)), HasSubstr("more than 32 deep"));
  EXPECT_NE(error_of(repeated("[", 1'000'000)), "none");
  EXPECT_NE(error_of(repeated("{a: ", 200'000)), "none");
  EXPECT_THAT(error_of(repeated("- ", 400'000)), HasSubstr("more than 32 deep"));
  EXPECT_THAT(error_of(repeated("- a\n", 200'000)), HasSubstr("too large"));
  EXPECT_EQ(error_of("a: " + repeated("[", 31) + repeated("]", 31)), "none");
}

TEST(ParseYaml, AliasBomb_IsRefused) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1) + ", ";
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(before, 9) + "]\n";
  }
  EXPECT_THAT(error_of(laughs), HasSubstr("too large with its aliases expanded"));
  // Few values, but each is long.
  const std::string long_text = "a: &x " + std::string(500'000, 'x') + "\nb: [" + repeated("*x, ", 20'000) + "]";
  EXPECT_THAT(error_of(long_text), HasSubstr("too large with its aliases expanded"));
  // Shallow each, deep together.
  std::string stairs = "a0: &a0 x\n";
  for (int i = 1; i < 40; ++i) {
    stairs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(error_of(stairs), HasSubstr("more than 32 deep"));
}

}  // namespace
}  // namespace cloche::config
