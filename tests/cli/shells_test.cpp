// Completions as the shells use them, and the man page as man shows it.
#include <fstream>

#include "cli/client.hpp"

namespace cloche {
namespace {

using testing::IsEmpty;
using testing::Not;

class CliShells : public Cli {
 protected:
  // The program is found under its own name.
  CommandSpec shell(std::vector<std::string> argv) const {
    CommandSpec spec = cloche({});
    spec.argv = std::move(argv);
    spec.env["PATH"] = std::filesystem::path(CLOCHE_PROGRAM).parent_path().string() + ":" + std::getenv("PATH");
    spec.env["CLOCHE_SERVER"] = "unix:/nowhere/socket";
    spec.env["HOME"] = scratch_.path();
    return spec;
  }
  static bool has(const char* program) {
    CommandSpec spec;
    spec.argv = {"sh", "-c", "command -v \"$0\" >/dev/null", program};
    return run_command(spec).exit_code == 0;
  }
};

TEST_F(CliShells, Bash_Completes) {
  const std::string script = R"sh(
    source <(cloche completion bash)
    try() {
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
      compopt() { :; }
      _cloche
      echo "${COMPREPLY[*]}"
    }
    try cloche se
    try cloche sessions ''
    try cloche sessions kill --mode ''
    try cloche sessions kill --mode = w
    try cloche pools --col
    try cloche exec demo -- my
  )sh";
  CommandSpec spec = shell({"bash", "--norc", "-c", script});
  spec.directory = scratch_.path();
  source("my file", "");
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.out, "serve sessions\nlist kill cp fork pause resume\ncut wait\nwait\n--color\nmy file\n") << end.err;
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(CliShells, Zsh_Completes) {
  if (!has("zsh")) CLOCHE_CANNOT_TEST("zsh", "it is not installed");
  // Without a line editor, the words that would be offered are what the functions are called with.
  const std::string script = R"sh(
    compdef() { :; }
    eval "$(cloche completion zsh)"
    _describe() { print -l -- "${(@P)2}"; }
    _files() { print files "$@"; }
    compadd() { print -- "$@"; }
    try() { words=("$@"); CURRENT=$#; _cloche; }
    try cloche se
    try cloche sessions kill --mode ''
    try cloche serve --state-dir ''
  )sh";
  const CommandEnd end = run_command(shell({"zsh", "-f", "-c", script}));
  EXPECT_THAT(end.out, HasSubstr("serve:Serve sandboxes over HTTP"));
  EXPECT_THAT(end.out, HasSubstr("cut:\nwait:\nfiles -/\n"));
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(CliShells, Fish_Completes) {
  if (!has("fish")) CLOCHE_CANNOT_TEST("fish", "it is not installed");
  const std::string script = R"sh(
    cloche completion fish | source
    complete -C 'cloche se'
    complete -C 'cloche sessions kill --mode '
  )sh";
  const CommandEnd end = run_command(shell({"fish", "--no-config", "-c", script}));
  EXPECT_THAT(end.out, HasSubstr("serve\tServe sandboxes over HTTP"));
  EXPECT_THAT(end.out, HasSubstr("cut\nwait\n"));
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(CliShells, ManPage_IsWithoutFault) {
  if (!has("groff") || !has("man")) CLOCHE_CANNOT_TEST("man", "groff-base or man-db is not installed");
  const CommandEnd page = run_command(cloche({"manual"}));
  ASSERT_EQ(page.exit_code, 0) << page.err;
  CommandSpec groff = shell({"groff", "-man", "-ww", "-rF0", "-Tutf8", "-z"});
  groff.input = page.out;
  const CommandEnd warned = run_command(groff);
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_THAT(warned.err, IsEmpty());
  CommandSpec man = shell({"man", "-l", source("cloche.1", page.out)});
  man.env["MANWIDTH"] = "100";
  man.env["LC_ALL"] = "C.UTF-8";
  const CommandEnd shown = run_command(man);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("cloche - sandboxes for untrusted code"));
  EXPECT_THAT(shown.out, HasSubstr("--server URL"));
  EXPECT_THAT(shown.out, HasSubstr("cloche exec [OPTION]... SESSION [COMMAND]..."));
}

TEST_F(CliShells, WhatIsInstalled_IsWhatTheProgramSays) {
  const std::filesystem::path texts = CLOCHE_INSTALLED_TEXTS;
  for (const auto& [name, arguments] : std::initializer_list<std::pair<const char*, std::vector<std::string>>>{
           {"cloche.1", {"manual"}},
           {"cloche", {"completion", "bash"}},
           {"_cloche", {"completion", "zsh"}},
           {"cloche.fish", {"completion", "fish"}}}) {
    std::ifstream file(texts / name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(run_command(cloche(arguments)).out, text) << name;
  }
}

}  // namespace
}  // namespace cloche
