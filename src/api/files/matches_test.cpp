// Answers of /grep and /glob.
#include "api/files/matches.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace cloche::api {

namespace json = boost::json;

namespace {

GrepMatch line(std::string path, std::uint64_t number, std::string text, bool is_context = false) {
  GrepMatch match;
  match.path = std::move(path);
  match.line = number;
  match.text = std::move(text);
  match.is_context = is_context;
  return match;
}

}  // namespace

TEST(MatchesToJson, LinesAround_AreToldWithTheirMatch) {
  GrepResult found;
  found.matches = {line("a", 1, "one", true),  line("a", 2, "two"),  line("a", 3, "three"),
                   line("a", 4, "four", true), line("a", 9, "nine"), line("b", 10, "ten")};
  found.files_searched = 2;
  const json::value answer = matches_to_json(found, "d", Searched::directory, 1);
  EXPECT_EQ(answer, json::parse(R"({"matches": [
      {"path": "d/a", "line": 2, "text": "two", "text_truncated": false, "before": ["one"], "after": ["three"]},
      {"path": "d/a", "line": 3, "text": "three", "text_truncated": false, "before": ["two"], "after": ["four"]},
      {"path": "d/a", "line": 9, "text": "nine", "text_truncated": false, "before": [], "after": []},
      {"path": "d/b", "line": 10, "text": "ten", "text_truncated": false, "before": [], "after": []}],
      "truncated": false, "files_searched": 2, "files_skipped": 0})"))
      << json::serialize(answer);
}

TEST(MatchesToJson, FileAndBytesThatAreNoText_AreToldAsTheyCanBe) {
  GrepResult found;
  found.matches = {line("x.txt", 1, "caf\xe9")};
  found.cut = true;
  const auto answer = matches_to_json(found, "d/x.txt", Searched::file, 0);
  const auto& match = answer.at("matches").as_array().at(0).as_object();
  EXPECT_EQ(match.at("path"), "d/x.txt");
  EXPECT_EQ(match.at("text"), "caf\xef\xbf\xbd");
  EXPECT_EQ(answer.at("truncated"), true);
}

TEST(MatchesToJson, MoreTextThanFits_EndsEarlyAndSaysSo) {
  GrepResult found;
  for (std::uint64_t i = 1; i <= 10'000; ++i) found.matches.push_back(line("a", i, std::string(2000, 'x')));
  const auto answer = matches_to_json(found, ".", Searched::directory, 20);
  EXPECT_EQ(answer.at("truncated"), true);
  EXPECT_LT(json::serialize(answer).size(), 10u << 20);
}

TEST(EntriesToJson, Entries_HavePathsBelowTheWorkspace) {
  EntryList found;
  FileEntry entry;
  entry.path = "x\xff";
  entry.type = FileType::fifo;
  entry.size = 3;
  found.entries = {entry};
  const json::value answer = entries_to_json(found, "d", Searched::directory);
  EXPECT_EQ(answer, json::parse("{\"paths\": [\"d/x\xef\xbf\xbd\"], \"entries\": [{\"path\": \"d/x\xef\xbf\xbd\", "
                                "\"type\": \"fifo\", \"size\": 3}], \"truncated\": false}"));
}

}  // namespace cloche::api
