// Every language whose tools are here: hello, echo, exit code, crash, mistakes, time, unicode, large input and output.
#include "runner/runner.hpp"

namespace cloche {

namespace {

struct Sample {
  const char* language;
  const char* tool;
  const char* echo;      // stdin to stdout, byte for byte
  const char* exits;     // with 3
  const char* crashes;   // by itself, whatever way it has
  const char* mistaken;  // does not compile, or not even parse
  const char* loops;
  const char* unicode;  // prints the line below
};

const std::string unicode_line = "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1";

const Sample samples[] = {
    {"python", "python3", "import sys, shutil\nshutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)\n",
     "import sys\nsys.exit(3)\n", "import os\nos.abort()\n", "print('no end\n", "while True: pass\n",
     "print('h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1')\n"},
    {"javascript", "node", "process.stdin.pipe(process.stdout)\n", "process.exit(3)\n", "process.abort()\n",
     "let = = 3\n", "for (;;) {}\n", "console.log('h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1')\n"},
    // Debian's Node brings its types for TypeScript.
    {"typescript", "/usr/share/nodejs/@types/node/index.d.ts", "process.stdin.pipe(process.stdout);\n",
     "process.exit(3);\n", "process.abort();\n", "const n: number = 'text';\n", "for (;;) {}\n",
     "const s: string = 'h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1';\nconsole.log(s);\n"},
    {"bash", "bash", "cat\n", "exit 3\n", "kill -ABRT $$\n", "if then (\n", "while :; do :; done\n",
     "echo 'h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1'\n"},
    {"c", "gcc",
     "#include <stdio.h>\nint main(void) { char b[65536]; size_t n; while ((n = fread(b, 1, sizeof b, stdin)) > 0) "
     "fwrite(b, 1, n, stdout); }\n",
     "int main(void) { return 3; }\n", "#include <stdlib.h>\nint main(void) { abort(); }\n",
     "int main(void) { return x }\n", "int main(void) { for (volatile int i = 0;; ++i) {} }\n",
     "#include <stdio.h>\nint main(void) { puts(\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1\"); }\n"},
    {"cpp", "g++", "#include <iostream>\nint main() { std::cout << std::cin.rdbuf(); }\n", "int main() { return 3; }\n",
     "#include <stdexcept>\nint main() { throw std::runtime_error(\"x\"); }\n", "int main() { return undefined; }\n",
     "int main() { for (volatile int i = 0;; ++i) {} }\n",
     "#include <iostream>\nint main() { std::cout << \"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1\\n\"; }\n"},
    {"java", "javac",
     "class Main { public static void main(String[] a) throws Exception { System.in.transferTo(System.out); "
     "System.out.flush(); } }\n",
     "class Main { public static void main(String[] a) { System.exit(3); } }\n",
     "class Main { public static void main(String[] a) { throw new RuntimeException(); } }\n",
     "class Main { public static void main(String[] a) { int x = \"\"; } }\n",
     "class Main { public static void main(String[] a) { for (;;) {} } }\n",
     "class Main { public static void main(String[] a) throws Exception {\n"
     "new java.io.PrintStream(System.out, true, \"UTF-8\").println(\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1\"); } "
     "}\n"},
    {"ruby", "ruby", "IO.copy_stream(STDIN, STDOUT)\n", "exit 3\n", "Process.kill(:ABRT, $$); sleep\n", "def (\n",
     "loop {}\n", "puts 'h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1'\n"},
    {"php", "php", "<?php stream_copy_to_stream(STDIN, STDOUT);\n", "<?php exit(3);\n",
     "<?php throw new Exception('x');\n", "<?php function (;\n", "<?php while (true) {}\n",
     "<?php echo 'h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1', \"\\n\";\n"},
    {"go", "go", "package main\nimport (\"io\"; \"os\")\nfunc main() { io.Copy(os.Stdout, os.Stdin) }\n",
     "package main\nimport \"os\"\nfunc main() { os.Exit(3) }\n", "package main\nfunc main() { panic(1) }\n",
     "package main\nfunc main() { x := }\n", "package main\nfunc main() { for {} }\n",
     "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1\") }\n"},
    {"rust", "rustc", "fn main() { std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap(); }\n",
     "fn main() { std::process::exit(3) }\n", "fn main() { panic!() }\n", "fn main() { let x: i32 = \"\"; }\n",
     "fn main() { loop { std::hint::spin_loop() } }\n",
     "fn main() { println!(\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x8c\xb1\") }\n"},
};

class LanguageOn : public RunnerOn {
 protected:
  // One submission after the other in the same pool.
  Task<Report> verdict_of(runner::CodeRunner& runner, const Sample& sample, const char* source, const TestCase& test) {
    Submission submission = in_language(sample.language, source);
    submission.cases.push_back(test);
    submission.checker.kind = Checker::Kind::exact;
    submission.program.run_limits.wall = source == sample.loops ? 2s : 20s;
    auto judged = co_await runner.run(submission, Deadline::after(120s));
    EXPECT_TRUE(judged) << sample.language << ": " << judged.error().message;
    co_return judged.value_or(Report());
  }
};

}  // namespace

TEST_P(LanguageOn, EveryLanguage_HasTheSameVerdicts) {
  if (fake_has_no("limits")) return;
  std::string every_byte;
  while (every_byte.size() < (2u << 20)) every_byte += static_cast<char>(every_byte.size() * 7 >> 3);
  const TestCase plain;
  const TestCase unicode = expecting("", unicode_line + "\n");
  const TestCase echo = expecting(every_byte, every_byte);
  int tried = 0;
  in_runner(options(1, 2), [&](runner::CodeRunner& runner) -> Task<> {
    for (const Sample& sample : samples) {
      if (!has(sample.tool)) {
        testing_support::note_missing(sample.tool, "the sandbox's root has no such program");
        continue;
      }
      ++tried;
      Report report = co_await verdict_of(runner, sample, sample.unicode, unicode);
      EXPECT_EQ(said(report), "success") << sample.language << ": " << report.reason << report.compile.err;
      report = co_await verdict_of(runner, sample, sample.echo, echo);
      EXPECT_EQ(said(report), "success") << sample.language << ": " << report.reason << report.compile.err;
      report = co_await verdict_of(runner, sample, sample.exits, plain);
      EXPECT_EQ(said(report), "runtime_error/exit_code") << sample.language << ": " << report.reason;
      EXPECT_TRUE(!report.cases.empty() && report.cases[0].outcome.exit_code == 3) << sample.language;
      report = co_await verdict_of(runner, sample, sample.crashes, plain);
      EXPECT_EQ(report.category, Category::runtime_error) << sample.language << ": " << report.reason;
      report = co_await verdict_of(runner, sample, sample.mistaken, plain);
      const bool compiles = !runner.languages().find(sample.language)->compile.empty();
      EXPECT_EQ(report.category, compiles ? Category::compilation_error : Category::runtime_error)
          << sample.language << ": " << report.reason;
      report = co_await verdict_of(runner, sample, sample.loops, plain);
      EXPECT_EQ(said(report), "timeout/wall") << sample.language << ": " << report.reason;
    }
  });
  EXPECT_GT(tried, 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, LanguageOn, testing::Values(Target{"oci", "crun"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
