// Compiled languages: one compile, its verdict apart from the runs', bombs included.
#include <csignal>

#include "runner/runner.hpp"

namespace cloche {

namespace {

const std::string echo_c = "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) != EOF) putchar(c); }\n";

// What a machine that is in order judges well.
const Submission answer = python("print(42)");

}  // namespace

RUNNER(CProgram_CompilesOnceAndRunsEachCase) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  Submission submission = in_language("c", echo_c);
  for (const char* text : {"a\n", "b\n", "c\n", "d\n"}) submission.cases.push_back(expecting(text, text));
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "success") << report.reason << report.compile.err;
  EXPECT_TRUE(report.compile.ran);
  EXPECT_TRUE(report.compile.outcome.success());
  ASSERT_EQ(report.cases.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(report.cases[i].out, submission.cases[i].input);
}

RUNNER(CompileErrors_HaveTheCompilersWordsApart) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  Submission submission = in_language("C", "int main(void) { return undefined_thing; }\n");
  submission.cases.push_back(expecting("", ""));
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "compilation_error/exit_code");
  EXPECT_THAT(report.compile.err, HasSubstr("undefined_thing"));
  EXPECT_TRUE(report.cases.empty());
  EXPECT_EQ(report.skipped, 1u);
}

RUNNER(CompileBombs_AreCompilationErrorsWithTheirCause) {
  if (fake_has_no("limits") || lacks("g++")) return;
  struct Row {
    const char* source;
    const char* verdict;
  };
  const Row rows[] = {
      // Time: templates without end.
      {"template <int N, int M> struct A { static const int v = A<N - 1, M * 2>::v + A<N - 1, M * 2 + 1>::v; };\n"
       "template <int M> struct A<0, M> { static const int v = M; };\nint main() { return A<24, 1>::v; }\n",
       "wall|memory"},
      // Memory: a large initialised array is built in memory and written out.
      {"char x[900000000] = {1};\nint main() { return x[5]; }\n", "memory|exit_code"},
      // Words without end.
      {"#define A(x) x x x x x x x x\n#define B(x) A(A(A(x)))\nint main() { B(B(int a = \"\";)) }\n",
       "output|wall|memory|exit_code"},
      {"#include \"/dev/urandom\"\nint main() {}\n", "memory|wall|exit_code|output"},
  };
  in_runner(options(), [&](runner::CodeRunner& runner) -> Task<> {
    for (const Row& row : rows) {
      Submission submission = in_language("cpp", row.source);
      submission.program.compile_limits.wall = 5s;
      submission.program.compile_limits.memory = mib(200);
      submission.program.compile_limits.output = mib(1);
      auto judged = co_await runner.run(submission, Deadline::after(60s));
      EXPECT_TRUE(judged) << judged.error().message;
      if (!judged) continue;
      EXPECT_EQ(judged->category, Category::compilation_error) << row.source << judged->reason;
      EXPECT_THAT(row.verdict, HasSubstr(std::string(to_string(judged->cause)))) << row.source;
      EXPECT_LE(judged->compile.err.size(), mib(1).count);
      auto next = co_await runner.run(answer);
      EXPECT_TRUE(next && next->passed()) << row.source;
    }
  });
}

RUNNER(Segfault_IsARuntimeErrorBySignal) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  const Report report = judge(in_language("c", "int main(void) { volatile int* p = 0; return *p; }\n"));
  EXPECT_EQ(said(report), "runtime_error/signal");
  EXPECT_EQ(report.cases.at(0).outcome.signal, SIGSEGV);
}

RUNNER(CompileAndRun_HaveLimitsOfTheirOwn) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  // 128 MB to run with, 256 MB to compile with.
  const std::string hog =
      "#include <stdlib.h>\nint main(void) { size_t n = 180u << 20; volatile char* p = malloc(n);\n"
      "for (size_t i = 0; i < n; i += 4096) p[i] = 1; return 0; }\n";
  const Report report = judge(in_language("c", hog));
  EXPECT_EQ(said(report), "runtime_error/memory") << report.reason;
}

RUNNER(TreesOfFiles_CompileAndRunTogether) {
  if (fake_has_no("limits") || lacks("g++")) return;
  Submission cpp;
  cpp.program.language = "C++";
  cpp.program.files = {
      {"main.cpp", "#include \"lib/sum.hpp\"\n#include <cstdio>\nint main() { std::printf(\"%d\\n\", sum(2, 3)); }\n"},
      {"lib/sum.hpp", "int sum(int, int);\n"},
      {"lib/sum.cpp", "#include \"sum.hpp\"\nint sum(int a, int b) { return a + b; }\n"}};
  cpp.cases.push_back(expecting("", "5"));
  const Report report = judge(cpp);
  EXPECT_EQ(said(report), "success") << report.reason << report.compile.err;
}

RUNNER(JavaTree_CompilesItsPackage) {
  if (fake_has_no("limits") || lacks("javac")) return;
  Submission java;
  java.program.language = "java";
  java.program.files = {
      {"com/x/Main.java",
       "package com.x;\npublic class Main { public static void main(String[] a) { System.out.println(Help.word()); } "
       "}\n"},
      {"com/x/Help.java", "package com.x;\nclass Help { static String word() { return \"ja\"; } }\n"}};
  java.cases.push_back(expecting("", "ja"));
  const Report report = judge(java);
  EXPECT_EQ(said(report), "success") << report.reason << report.compile.err << report.compile.out;
}

RUNNER(PythonModules_AreFoundBesideTheMainFile) {
  Submission submission;
  submission.program.language = "py";
  submission.program.files = {{"main.py", "from lib.words import word\nprint(word)\n"},
                              {"lib/words.py", "word = 'si'\n"}};
  submission.cases.push_back(expecting("", "si"));
  EXPECT_EQ(said(judge(submission)), "success");
}

}  // namespace cloche
