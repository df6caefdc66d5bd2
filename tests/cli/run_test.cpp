// `cloche run`: the program's output and exit code are its own, on every backend and runtime.
#include <unistd.h>

#include "cli/cli.hpp"

namespace cloche {
namespace {

const std::string hello = CLOCHE_EXAMPLES "/hello.py";

TEST_P(CliOn, Hello_PrintsTheSameEverywhere) {
  const CommandEnd end = run_command(cloche_run(GetParam(), {hello}));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  // On an engine without user namespaces every sandbox has a uid of its own.
  EXPECT_THAT(end.out, ::testing::MatchesRegex(
                           "Hello from Python 3, in /workspace, as uid [0-9]+\\.\nThere is no network here\\.\n"));
  EXPECT_EQ(end.err, "");
}

TEST_P(CliOn, Json_HasOutcomeTimesAndPeakMemory) {
  const std::string file = source(
      "busy.py", "import sys\nsum(range(3_000_000))\nprint('out'); print('err', file=sys.stderr); sys.exit(7)\n");
  const CommandEnd end = run_command(cloche_run(GetParam(), {"--json", file}));
  EXPECT_EQ(end.exit_code, 7) << end.err;
  const auto json = parse_json(end.out);
  const auto& outcome = json.at("outcome");
  EXPECT_EQ(outcome.at("ending").as_string(), "exited");
  EXPECT_EQ(outcome.at("exit_code").as_int64(), 7);
  EXPECT_GT(outcome.at("wall_seconds").to_number<double>(), 0.0);
  EXPECT_GT(outcome.at("user_seconds").to_number<double>() + outcome.at("system_seconds").to_number<double>(), 0.0);
  EXPECT_GT(outcome.at("peak_memory_bytes").to_number<double>(), 1 << 20);
  EXPECT_EQ(json.at("stdout").as_string(), "out\n");
  EXPECT_EQ(json.at("stderr").as_string(), "err\n");
  EXPECT_EQ(json.at("sandbox").at("runtime").as_string(), GetParam().runtime);
}

TEST_P(CliOn, OverItsTimeOrMemory_SaysWhich) {
  const std::string sleeper = source("sleep.py", "import time\ntime.sleep(100)\n");
  const CommandEnd late = run_command(cloche_run(GetParam(), {"--timeout", "0.5", sleeper}));
  EXPECT_EQ(late.exit_code, 137);
  EXPECT_THAT(late.err, HasSubstr("time limit exceeded"));

  const std::string hog = source("hog.py", "x = bytearray(400 << 20)\n");
  const CommandEnd large = run_command(cloche_run(GetParam(), {"--memory", "96m", hog}));
  EXPECT_EQ(large.exit_code, 137);
  EXPECT_THAT(large.err, HasSubstr("memory limit exceeded"));
}

INSTANTIATE_TEST_SUITE_P(Backends, CliOn,
                         testing::Values(Target{"oci", "crun"}, Target{"oci", "runc"}, Target{"oci", "runsc"},
                                         Target{"docker", "runc"}, Target{"docker", "runsc"}),
                         [](const auto& target) { return target.param.name(); });

TEST_F(CliRun, ExitCodeAndSignals_PassThrough) {
  for (const auto& [text, code] :
       {std::pair{"exit 0", 0}, {"exit 1", 1}, {"exit 64", 64}, {"exit 255", 255}, {"kill -SEGV $$", 139}}) {
    EXPECT_EQ(run_command(cloche_run({source("end.sh", text)})).exit_code, code) << text;
  }
}

TEST_F(CliRun, Input_IsTheCommandsOwnOrAFile) {
  const std::string cat = source("cat.sh", "cat");
  CommandSpec own = cloche_run({cat});
  own.input = "through\n";
  EXPECT_EQ(run_command(own).out, "through\n");
  CommandSpec file = cloche_run({"--stdin", source("input", std::string("from\0a file", 11)), cat});
  file.input = "not this";
  EXPECT_EQ(run_command(file).out, std::string("from\0a file", 11));
}

TEST_F(CliRun, InputThatNeverEnds_IsNotWaitedFor) {
  CommandSpec spec;
  const std::string file = source("silent.sh", "echo done");
  const CommandSpec run = cloche_run({file});
  spec.env = run.env;
  spec.argv = {"/bin/sh", "-c", "{ read never < \"$0\"; } | \"$@\"", scratch_.path() / "fifo"};
  spec.argv.insert(spec.argv.end(), run.argv.begin(), run.argv.end());
  ASSERT_EQ(run_command({.argv = {"mkfifo", scratch_.path() / "fifo"}}).exit_code, 0);
  Command command(spec);
  EXPECT_TRUE(command.wait_for("done\n"));
  // Opening it ends the shell's `read`.
  EXPECT_EQ(run_command({.argv = {"/bin/sh", "-c", ": > \"$0\"", scratch_.path() / "fifo"}}).exit_code, 0);
  EXPECT_EQ(command.finish().exit_code, 0);
}

TEST_F(CliRun, ReaderThatGoesAway_EndsTheProgram) {
  const CommandSpec run = cloche_run({"--timeout", "60", source("flood.sh", "while :; do echo flood; done")});
  CommandSpec spec;
  spec.env = run.env;
  spec.argv = {"/bin/bash", "-c", "\"$@\" | head -n 1; echo ${PIPESTATUS[0]}", "bash"};
  spec.argv.insert(spec.argv.end(), run.argv.begin(), run.argv.end());
  EXPECT_EQ(run_command(spec).out, "flood\n141\n");
}

TEST_F(CliRun, Arguments_ArriveAsTheyAre) {
  const std::string file = source("-dash.py", "import sys\nprint(sys.argv[1:])\n");
  const CommandEnd end = run_command(cloche_run({"--", file, "a b", "--json", "-x", "", "$HOME"}));
  EXPECT_EQ(end.out, "['a b', '--json', '-x', '', '$HOME']\n") << end.err;
}

TEST_F(CliRun, OutputThatIsNoText_IsThereAsBytesToo) {
  const std::string file = source("bytes.py", "import sys\nsys.stdout.buffer.write(b'\\xff\\x00ok')\n");
  const auto json = parse_json(run_command(cloche_run({"--json", file})).out);
  EXPECT_EQ(json.at("stdout_base64").as_string(), "/wBvaw==");
  EXPECT_EQ(run_command(cloche_run({file})).out, std::string("\xff\0ok", 4));
}

TEST_F(CliRun, ProgramThatIsNotThere_IsAnOutcome) {
  const CommandEnd end = run_command(cloche_run({"--json", "--language", "ruby", source("x.rb", "")}));
  if (end.exit_code == 0) CLOCHE_DOES_NOT_APPLY("this host has ruby");
  EXPECT_EQ(end.exit_code, 127);
  EXPECT_EQ(parse_json(end.out).at("outcome").at("ending").as_string(), "not_started");
}

TEST_F(CliRun, CompiledLanguages_CompileFirst) {
  const std::string c =
      source("double.c",
             "#include <stdio.h>\nint main(void) { int n; scanf(\"%d\", &n); printf(\"%d\\n\", 2 * n); return 3; }\n");
  if (::access("/usr/bin/gcc", X_OK) != 0) CLOCHE_CANNOT_TEST("gcc", "this host has no compiler");
  CommandSpec spec = cloche_run({c});
  spec.input = "21\n";
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.out, "42\n") << end.err;
  EXPECT_EQ(end.exit_code, 3);

  const std::string bad = source("bad.c", "int main(void) { return wrong; }\n");
  const CommandEnd failed = run_command(cloche_run({bad}));
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_THAT(failed.err, HasSubstr("wrong"));
  const auto json = parse_json(run_command(cloche_run({"--json", bad})).out);
  EXPECT_EQ(json.at("category").as_string(), "compilation_error");
  EXPECT_THAT(std::string(json.at("compile").at("stderr").as_string()), HasSubstr("wrong"));

  const std::string hog =
      source("hog.c",
             "#include <stdlib.h>\nint main(void) { size_t n = 180u << 20; volatile char* p = malloc(n);\n"
             "for (size_t i = 0; i < n; i += 4096) p[i] = 1; return 0; }\n");
  const CommandEnd large = run_command(cloche_run({hog}));
  EXPECT_EQ(large.exit_code, 137) << "the compiler's memory is not the program's";
}

struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  int exit_code;
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

class CliMistakes : public Cli, public testing::WithParamInterface<Mistake> {};

TEST_P(CliMistakes, AreNamed) {
  source("x.py", "print('ran')\n");
  CommandSpec spec = cloche(GetParam().arguments);
  spec.directory = scratch_.path();
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.exit_code, GetParam().exit_code);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Run, CliMistakes,
    testing::Values(
        Mistake{"NoCommand", {}, 64, "missing command"}, Mistake{"UnknownCommand", {"fly"}, 64, "fly"},
        Mistake{"NoFile", {"run"}, 64, "file is required"},
        Mistake{"FileThatIsNotThere", {"run", "nowhere.py"}, 70, "cannot read nowhere.py"},
        Mistake{"Directory", {"run", "--language", "sh", "."}, 64, ". is a directory"},
        Mistake{"InputThatIsNotThere", {"run", "--stdin", "nowhere", "x.py"}, 70, "cannot read nowhere"},
        Mistake{"UnknownExtension", {"run", "x.cob"}, 64, "set --language to one of: python"},
        Mistake{"UnknownLanguage", {"run", "--language", "cobol", "x.py"}, 64, "unknown language 'cobol'"},
        Mistake{"UnknownFlag", {"run", "--turbo", "x.py"}, 64, "--turbo"},
        Mistake{"UnknownBackend", {"run", "--backend", "jail", "x.py"}, 64, "jail not in {oci,docker,e2b,kubernetes}"},
        Mistake{"NoTime", {"run", "--timeout", "0", "x.py"}, 64, "--timeout"},
        Mistake{"NoAmount", {"run", "--memory", "much", "x.py"}, 64, "'much' is not a number of bytes"},
        Mistake{"TooLittleMemory", {"run", "--memory", "1k", "x.py"}, 64, "limit memory is 1 KiB"},
        Mistake{"UnknownRuntime", {"run", "--runtime", "jet", "x.py"}, 69, "unknown runtime 'jet'"},
        Mistake{"NoEngine",
                {"run", "--backend", "docker", "--docker-host", "unix:///nowhere/docker.sock", "x.py"},
                69,
                "/nowhere/docker.sock"},
        Mistake{"UnknownLevel", {"--log-level", "loud", "doctor"}, 64, "loud"}),
    [](const auto& mistake) { return mistake.param.name; });

}  // namespace
}  // namespace cloche
