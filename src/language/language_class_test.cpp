#include "language/language_class.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

struct Source {
  const char* name;
  const char* text;
  const char* class_name;
  const char* package = "";
};

std::ostream& operator<<(std::ostream& out, const Source& source) { return out << source.text; }

class JavaClassTest : public testing::TestWithParam<Source> {};

TEST_P(JavaClassTest, IsFound) {
  const JavaClass found = find_java_class(GetParam().text);
  EXPECT_EQ(found.name, GetParam().class_name);
  EXPECT_EQ(found.package, GetParam().package);
}

const Source sources[] = {
    {"Plain", "public class Foo { }", "Foo"},
    {"Default", "class Foo { }", "Main"},
    {"Nothing", "", "Main"},
    {"MainMethod", "class A { } class B { public static void main(String[] a) { } }", "B"},
    {"PublicOverMainMethod", "class A { static void main(String[] a) {} } public class B { }", "B"},
    {"FirstMainMethod", "class A { void main() {} } class B { void main() {} }", "A"},
    {"MainOfAnInnerClass", "class A { class I { void main() {} } }", "Main"},
    {"MainCalled", "class A { void f() { main(null); } void g() { } }", "Main"},
    {"Package", "package a.b . c;\nimport java.util.*;\npublic class Foo { }", "Foo", "a.b.c"},
    {"PackageOnly", "package x;", "Main", "x"},
    {"Modifiers", "public final strictfp abstract class Foo<T extends Bar> extends Baz { }", "Foo"},
    {"NonSealed", "public non-sealed class Foo { }", "Foo"},
    {"Interface", "public interface Foo { static void main(String[] a) { } }", "Foo"},
    {"Enum", "public enum Foo { A, B }", "Foo"},
    {"Record", "public record Foo(int x, int y) { }", "Foo"},
    {"Annotation", "public @interface Foo { }", "Foo"},
    {"Annotated", "public @A(value = Bar.class, n = {1, 2}, s = \"class X {\") class Foo { }", "Foo"},
    {"AnnotatedBefore", "@A({B.class})\n@C(x = ')')\npublic class Foo { }", "Foo"},
    {"LineComment", "// public class Wrong {\npublic class Foo { }", "Foo"},
    {"BlockComment", "/* public class Wrong { */ public /* class Wrong */ class /**/ Foo { }", "Foo"},
    {"JavaDoc", "/** A public class for everything */\npublic class Foo { }", "Foo"},
    {"String", "class A { String s = \"} public class Wrong {\"; } public class Foo { }", "Foo"},
    {"EscapedQuote", "class A { String s = \"\\\"} public class Wrong {\"; } public class Foo { }", "Foo"},
    {"CharQuote", "class A { char a = '\"', b = '\\'', c = '{'; } public class Foo { }", "Foo"},
    {"TextBlock",
     "class A { String s = \"\"\"\n } \"quoted\" public class Wrong { \\\"\"\"\n\"\"\"; }\npublic class Foo { }",
     "Foo"},
    {"OpenString", "class A { String s = \"never closed;\n }\npublic class Foo { }", "Foo"},
    {"NestedPublic", "class A { public class Inner { } }\nclass B { public static void main(String[] a) {} }", "B"},
    {"PublicFieldOfOther", "class A { public int x; } class B { void main() {} }", "B"},
    {"Dollar", "public class $Foo_1 { }", "$Foo_1"},
    {"Umlaut", "public class Größe { }", "Größe"},
    {"ByteOrderMark", "\xef\xbb\xbfpublic class Foo { }", "Foo"},
    {"Carriage", "package a;\r\npublic class Foo {\r\n}\r\n", "Foo", "a"},
    {"ClassWord", "import a.class_; public class classy { }", "classy"},
    {"Unbalanced", "}}}} public class Foo {", "Foo"},
    {"OpenComment", "/* public class Foo { }", "Main"},
    {"NoName", "public class", "Main"},
    {"NoName2", "public class { }", "Main"},
};
INSTANTIATE_TEST_SUITE_P(Sources, JavaClassTest, testing::ValuesIn(sources),
                         [](const auto& each) { return each.param.name; });

TEST(JavaClass, HugeSource_IsReadOnce) {
  std::string text = "class A { String s = \"";
  text += std::string(4'000'000, '{') + "\"; /*" + std::string(4'000'000, '*') + "/ }";
  for (int i = 0; i < 200'000; ++i) text += "\n@A(\"\\\"\") ;";
  EXPECT_EQ(find_java_class(text + "\npublic class Foo { }").name, "Foo");
}

}  // namespace
}  // namespace cloche
