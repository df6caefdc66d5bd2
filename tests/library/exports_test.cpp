// What libcloche.so shows is what the headers mark as theirs, all of it and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cloche/version.hpp"
#include "support/command.hpp"

namespace cloche {
namespace {

using testing::Contains;
using testing::IsEmpty;

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Classes and functions that a header marks, with their namespace.
std::set<std::string> marked_in(const std::filesystem::path& header) {
  const std::string text = read(header);
  std::smatch space;
  if (!std::regex_search(text, space, std::regex(R"(\nnamespace ([a-z:]+) \{)"))) return {};
  std::set<std::string> names;
  const std::regex mark(R"((?:class|struct) CLOCHE_API (\w+)|\nCLOCHE_API [^(]*?(\w+)\()");
  for (std::sregex_iterator at(text.begin(), text.end(), mark), end; at != end; ++at) {
    names.insert(space.str(1) + "::" + ((*at)[1].matched ? at->str(1) : at->str(2)));
  }
  return names;
}

std::set<std::string> marked() {
  std::set<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(CLOCHE_HEADERS)) names.merge(marked_in(each.path()));
  return names;
}

std::vector<std::string> exported() {
  const auto nm = testing_support::run_command({.argv = {"nm", "-DC", "--defined-only", CLOCHE_SHARED_LIBRARY}});
  EXPECT_EQ(nm.exit_code, 0) << nm.err;
  std::vector<std::string> symbols;
  std::istringstream lines(nm.out);
  for (std::string line; std::getline(lines, line);) symbols.push_back(line.substr(19));  // address, kind
  return symbols;
}

// "cloche::async::Sandbox" of `typeinfo for cloche::async::Sandbox` and of `cloche::async::Sandbox::run(…)`.
std::string owner_of(std::string symbol, const std::set<std::string>& names) {
  for (const std::string before : {"typeinfo for ", "typeinfo name for ", "vtable for "}) {
    if (symbol.starts_with(before)) symbol = symbol.substr(before.size());
  }
  for (const std::string& name : names) {
    const std::string rest = symbol.starts_with(name) ? symbol.substr(name.size()) : "?";
    const bool is_it = rest.empty() || rest.starts_with("(") || rest.starts_with("[abi:") || rest.starts_with("::");
    const std::string member = rest.substr(0, rest.find('('));
    if (is_it && member.find("::Impl") == std::string::npos) return name;
  }
  return {};
}

// See src/library/exports.map.
bool is_mark_of_asio(const std::string& symbol) {
  return symbol.starts_with("boost::asio::detail::keyword_tss_ptr<") && symbol.ends_with(">::value_");
}

TEST(Exports, EachIsOfTheInterface) {
  const auto names = marked();
  ASSERT_GT(names.size(), 20u);
  std::vector<std::string> foreign;
  for (const std::string& symbol : exported()) {
    if (owner_of(symbol, names).empty() && !is_mark_of_asio(symbol)) foreign.push_back(symbol);
  }
  EXPECT_THAT(foreign, IsEmpty());
}

TEST(Exports, WhatHeadersMark_IsThere) {
  const auto names = marked();
  std::set<std::string> missing = names;
  const auto symbols = exported();
  for (const std::string& symbol : symbols) missing.erase(owner_of(symbol, names));
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_THAT(symbols, Contains("typeinfo for cloche::SandboxError"));
  EXPECT_TRUE(std::ranges::any_of(symbols, is_mark_of_asio)) << "a program with an executor of its own would crash";
}

TEST(Exports, NameOfTheLibrary_CarriesTheVersionOfTheInterface) {
  const auto elf = testing_support::run_command({.argv = {"readelf", "-d", CLOCHE_SHARED_LIBRARY}});
  const std::string interface = std::to_string(CLOCHE_VERSION_MAJOR) + "." + std::to_string(CLOCHE_VERSION_MINOR);
  EXPECT_THAT(elf.out, testing::HasSubstr("Library soname: [libcloche.so." + interface + "]"));
  EXPECT_EQ(version(), CLOCHE_VERSION);
  EXPECT_EQ(version(), CLOCHE_PROJECT_VERSION);
}

TEST(Headers, WithoutCoroutines_NeedTheStandardLibraryAlone) {
  std::string all;
  for (const auto& each : std::filesystem::directory_iterator(CLOCHE_HEADERS)) {
    const std::string name = each.path().filename();
    if (!name.starts_with("async")) all += "#include <cloche/" + name + ">\n";
  }
  const auto read = testing_support::run_command(
      {.argv = {CLOCHE_CXX, "-std=c++20", "-M", "-x", "c++", "-I", CLOCHE_HEADERS "/..", "-"}, .input = all});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  for (const char* other : {"/boost/", "/fmt/", "/openssl/", "/spdlog/", "/yaml-cpp/"}) {
    EXPECT_THAT(read.out, testing::Not(testing::HasSubstr(other)));
  }
  EXPECT_THAT(read.out, testing::HasSubstr("cloche/process.hpp"));
}

}  // namespace
}  // namespace cloche
