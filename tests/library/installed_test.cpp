// The library as others find it: installed, moved, found by CMake or pkg-config in both of its forms, built into
// programs that are not ours, and run. Each example says in its last comment what it prints.
#include <fstream>
#include <sstream>

#include "library/library.hpp"
#include "support/command.hpp"

namespace cloche {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::CommandEnd;
using testing_support::run_command;

CommandEnd run_long(std::vector<std::string> argv) {
  testing_support::CommandSpec spec;
  spec.argv = std::move(argv);
  testing_support::Command command(spec);
  return command.finish(std::chrono::seconds(600));
}

void succeed(std::vector<std::string> argv) {
  const CommandEnd end = run_long(std::move(argv));
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
}

// What stands below `// Prints:` at the end of a source.
std::string printed_by(const std::filesystem::path& source) {
  std::ifstream file(source);
  std::string printed;
  bool begun = false;
  for (std::string line; std::getline(file, line);) {
    if (begun && line.starts_with("//   ")) printed += line.substr(5) + "\n";
    if (line == "// Prints:") begun = true;
  }
  return printed;
}

class Installed : public Library {
 protected:
  void SetUp() override {
    Library::SetUp();
    if (IsSkipped()) return;
    const std::string first = scratch_.path() / "first";
    ASSERT_NO_FATAL_FAILURE(succeed({CLOCHE_CMAKE, "--install", CLOCHE_BUILD_DIR, "--prefix", first}));
    std::filesystem::rename(first, prefix_);
  }

  std::string at(const std::string& name) const { return (scratch_.path() / name).string(); }

  std::vector<std::string> configure(const std::string& project, const std::string& build,
                                     const std::string& option) const {
    return {CLOCHE_CMAKE,
            "-S",
            project,
            "-B",
            at(build),
            "-G",
            "Ninja",
            "-DCMAKE_PREFIX_PATH=" + prefix_,
            std::string("-DCMAKE_CXX_COMPILER=") + CLOCHE_CXX,
            "-DCMAKE_EXE_LINKER_FLAGS=-s",
            "-DCMAKE_CXX_COMPILER_LAUNCHER=" + launcher(),
            option};
  }

  // Both forms compile the same sources, in every run of the tests.
  std::string launcher() const {
    if (std::string_view(CLOCHE_CCACHE).empty()) return "";
    return CLOCHE_CMAKE ";-E;env;CCACHE_NOHASHDIR=1;CCACHE_BASEDIR=" + scratch_.path().string() + ";" CLOCHE_CCACHE;
  }

  // Builds the examples of a folder, runs each, and compares.
  void check_examples(const std::string& folder, const std::string& option, const std::string& build) {
    // A copy: a cached object depends on the place of its source.
    const std::string project = at(folder + "-sources");
    std::filesystem::copy(CLOCHE_EXAMPLES "/" + folder, project, std::filesystem::copy_options::recursive);
    ASSERT_NO_FATAL_FAILURE(succeed(configure(project, build, option)));
    ASSERT_NO_FATAL_FAILURE(succeed({CLOCHE_CMAKE, "--build", at(build), "-j2"}));
    for (const auto& source : std::filesystem::directory_iterator(project)) {
      if (source.path().extension() != ".cpp") continue;
      const std::string name = source.path().stem();
      const std::string printed = printed_by(source.path());
      EXPECT_NE(printed, "") << name << " does not say what it prints";
      const CommandEnd end = run_command({.argv = {CLOCHE_ALONE, at(build) + "/" + name}});
      EXPECT_EQ(end.exit_code, 0) << name << ": " << end.err;
      EXPECT_EQ(end.out, printed) << name << ": " << end.err;
      ++checked_;
    }
  }
  // One installation serves several: it takes a while.
  void check_pkg_config();
  void check_components();

  static std::string needed_by(const std::string& program) {
    return run_command({.argv = {"readelf", "-d", program}}).out;
  }

  std::string prefix_ = scratch_.path() / "prefix";
  int checked_ = 0;
};

// pkg-config is enough for a compiler.
void Installed::check_pkg_config() {
  const std::map<std::string, std::string> env{{"PKG_CONFIG_PATH", prefix_ + "/" CLOCHE_LIBDIR "/pkgconfig"}};
  const CommandEnd flags = run_command({.argv = {"pkg-config", "--cflags", "--libs", "cloche"}, .env = env});
  ASSERT_EQ(flags.exit_code, 0) << flags.err;
  std::ofstream(at("version.cpp")) << "#include <cloche/version.hpp>\n#include <iostream>\n"
                                      "int main() { std::cout << cloche::version() << (cloche::version() == "
                                      "CLOCHE_VERSION); }\n";
  std::vector<std::string> compile{CLOCHE_CXX, "-std=c++20",  at("version.cpp"),
                                   "-o",       at("version"), "-Wl,-rpath," + prefix_ + "/" CLOCHE_LIBDIR};
  std::istringstream words(flags.out);
  for (std::string word; words >> word;) compile.push_back(word);
  ASSERT_NO_FATAL_FAILURE(succeed(compile));
  const CommandEnd end = run_command({.argv = {at("version")}});
  EXPECT_EQ(end.out, CLOCHE_PROJECT_VERSION "1") << end.err;
}

// Components that there are not, or not beside each other, are refused with words.
void Installed::check_components() {
  const auto configured = [&](const std::string& find) {
    std::filesystem::create_directories(at("project"));
    std::ofstream(at("project/CMakeLists.txt")) << "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
                                                << find << "\n";
    std::filesystem::remove_all(at("none"));
    return run_long(configure(at("project"), "none", "-DX=1"));
  };
  EXPECT_THAT(configured("find_package(cloche REQUIRED COMPONENTS purple)").err, HasSubstr("components static and"));
  EXPECT_THAT(configured("find_package(cloche REQUIRED COMPONENTS shared)\nfind_package(cloche REQUIRED)").err,
              HasSubstr("cannot have both"));
  EXPECT_NE(configured("find_package(cloche 9 REQUIRED)").exit_code, 0);
  const CommandEnd fine = configured("find_package(cloche " CLOCHE_INTERFACE_VERSION
                                     " REQUIRED COMPONENTS shared)\nfind_package(cloche COMPONENTS shared)\n"
                                     "if(NOT TARGET cloche::cloche)\nmessage(FATAL_ERROR none)\nendif()");
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
}

TEST_F(Installed, StaticForm_BuildsAndRunsEveryExample) {
  check_examples("cpp", "-DCLOCHE_SHARED=OFF", "cpp");
  check_examples("embed", "-DBUILD_SHARED_LIBS=OFF", "embed");
  EXPECT_GT(checked_, 10);
  EXPECT_THAT(needed_by(at("cpp/direct")), Not(HasSubstr("libcloche")));
  EXPECT_EQ(run_command({.argv = {prefix_ + "/bin/cloche", "--version"}}).exit_code, 0);
}

TEST_F(Installed, SharedForm_BuildsAndRunsEveryExample) {
  check_examples("cpp", "-DCLOCHE_SHARED=ON", "cpp");
  check_examples("embed", "-DBUILD_SHARED_LIBS=ON", "embed");
  EXPECT_GT(checked_, 10);
  const std::string needed = needed_by(at("cpp/direct"));
  EXPECT_THAT(needed, HasSubstr("libcloche.so." + std::string(CLOCHE_INTERFACE_VERSION)));
  EXPECT_THAT(needed, Not(HasSubstr("boost"))) << "what the library needs is its own affair";
  check_pkg_config();
  check_components();
}

}  // namespace
}  // namespace cloche
