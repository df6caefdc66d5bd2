// Trees of a session's files over HTTP: searched, listed, copied in and out.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "archive/tar_writer.hpp"
#include "service/file_api.hpp"

namespace cloche {

namespace json = boost::json;

class FileTreeApi : public FileApi {
 protected:
  Task<Answered> copy_in(std::string files) {
    auto answered = co_await call("POST", below_session("/copy"), "{\"files\": " + files + "}");
    co_return answered;
  }
  Task<http::Response> copy_tar(std::string archive) {
    http::Fields fields{{"Content-Type", "application/x-tar"}};
    auto answered = co_await raw("POST", below_session("/copy"), fields, std::move(archive));
    co_return answered;
  }
};

namespace {

std::string tar_entry(std::string path, const std::string& content) {
  tar::Entry entry;
  entry.path = std::move(path);
  entry.size = content.size();
  entry.mode = 0644;
  return tar::header(entry) + content + std::string(tar::padding_after(content.size()), '\0');
}

std::vector<std::string> paths_in(const Answered& answered) {
  std::vector<std::string> paths;
  const auto* body = answered.body.if_object();
  const auto* listed = body == nullptr ? nullptr : body->if_contains("paths");
  if (listed == nullptr) return paths;
  for (const auto& path : listed->as_array()) paths.emplace_back(path.as_string());
  return paths;
}

}  // namespace

TEST_P(FileTreeApi, Grep_FindsLinesWithTheirContext) {
  serve([this]() -> Task<> {
    auto copied = co_await copy_in(
        R"({"src/a.py": "import os\ndef f():\n    return 1\n", "src/b.txt": "def f\n", ".hid/c.py": "Def g\n"})");
    EXPECT_EQ(copied.status, 200u) << error_message_of(copied);
    EXPECT_EQ(copied.number("files"), 3);
    EXPECT_EQ(copied.number("bytes"), 32 + 6 + 6);
    json::object body;
    body["pattern"] = "^def \\w";
    body["glob"] = "*.py";
    body["context"] = 1;
    auto found = co_await post("/grep", body);
    EXPECT_EQ(found.body.at("matches"), json::parse(R"([{"path": "src/a.py", "line": 2, "text": "def f():",
        "text_truncated": false, "before": ["import os"], "after": ["    return 1"]}])"))
        << json::serialize(found.body);
    EXPECT_EQ(found.number("files_searched"), 2);
    body["ignore_case"] = true;
    body["context"] = 0;
    body["limit"] = 1;
    auto limited = co_await post("/grep", body);
    EXPECT_EQ(limited.body.at("matches").as_array().size(), 1u);
    EXPECT_EQ(limited.body.at("truncated"), true);
    json::object one;
    one["pattern"] = "f";
    one["path"] = "src/b.txt";
    auto in_file = co_await post("/grep", one);
    EXPECT_EQ(in_file.body.at("matches").as_array().at(0).at("path"), "src/b.txt");
  });
}

TEST_P(FileTreeApi, PatternsThatExplodeOrAreNone_DoNoHarm) {
  serve([this]() -> Task<> {
    auto written = co_await write("a.txt", std::string(100'000, 'a') + "!\n");
    EXPECT_EQ(written.status, 200u);
    json::object body;
    body["pattern"] = "(a+)+$";
    auto found = co_await post("/grep", body);
    EXPECT_EQ(found.status, 200u) << error_message_of(found);
    for (const char* pattern : {"(", "", "a{1000}{1000}", "((((a{1,100}){1,100}){1,100}){1,100})", "(?<=a)b", "\\1"}) {
      body["pattern"] = pattern;
      auto refused = co_await post("/grep", body);
      EXPECT_EQ(refused.status, 400u) << pattern << error_message_of(refused);
    }
    json::object glob;
    for (const char* pattern : {"", "/etc/*", "../*", "a/../../*"}) {
      glob["pattern"] = pattern;
      auto refused = co_await post("/glob", glob);
      EXPECT_EQ(refused.status, 400u) << pattern;
    }
    glob["pattern"] = "{a,b}{c,d}{e,f}{g,h}{a,b}{c,d}{e,f}{g,h}{a,b}{c,d}{e,f}{g,h}{a,b}{c,d}{e,f}{g,h}{a,b}{c,d}";
    auto many = co_await post("/glob", glob);
    EXPECT_TRUE(many.status == 400u || many.status == 200u) << many.status;
    glob["pattern"] = "$(touch owned)`id`;*";
    auto shell_like = co_await post("/glob", glob);
    EXPECT_EQ(shell_like.status, 200u) << error_message_of(shell_like);
    glob["pattern"] = "**";
    auto all = co_await post("/glob", glob);
    EXPECT_THAT(paths_in(all), testing::ElementsAre("a.txt")) << "no shell had a hand in it";
  });
}

TEST_P(FileTreeApi, Glob_ListsWhatMatches) {
  serve([this]() -> Task<> {
    co_await copy_in(R"({"a.py": "1", "d/b.py": "22", "d/.c.py": "3", "d/e/f.txt": "4"})");
    co_await shell("ln -s /etc links");
    json::object body;
    body["pattern"] = "**/*.py";
    auto found = co_await post("/glob", body);
    EXPECT_THAT(paths_in(found), testing::UnorderedElementsAre("a.py", "d/b.py"));
    body["hidden"] = true;
    auto hidden = co_await post("/glob", body);
    EXPECT_THAT(paths_in(hidden), testing::UnorderedElementsAre("a.py", "d/b.py", "d/.c.py"));
    body["limit"] = 1;
    auto cut = co_await post("/glob", body);
    EXPECT_EQ(paths_in(cut).size(), 1u);
    EXPECT_EQ(cut.body.at("truncated"), true);
    json::object below;
    below["pattern"] = "*";
    below["path"] = "d";
    auto in_d = co_await post("/glob", below);
    const json::value& first = in_d.body.at("entries").as_array().at(0);
    EXPECT_EQ(first, json::parse(R"({"path": "d/b.py", "type": "file", "size": 2})"));
    EXPECT_EQ(in_d.body.at("entries").as_array().at(1).at("type"), "directory");
    EXPECT_THAT(paths_in(in_d), testing::ElementsAre("d/b.py", "d/e"));
    json::object links;
    links["pattern"] = "**/passwd";
    auto through = co_await post("/glob", links);
    EXPECT_THAT(paths_in(through), testing::IsEmpty());
    links["path"] = "links";
    auto out = co_await post("/glob", links);
    EXPECT_EQ(out.status, 403u);
  });
}

TEST_P(FileTreeApi, CopyWithOneBadFile_WritesNone) {
  serve([this]() -> Task<> {
    auto first = co_await copy_in(R"([{"path": "keep/x", "content": "old"}])");
    EXPECT_EQ(first.status, 200u) << error_message_of(first);
    // "keep" is a directory already; the other file must not appear either.
    auto clash = co_await copy_in(R"({"new": "1", "keep": "2"})");
    EXPECT_EQ(clash.status, 409u) << error_message_of(clash);
    auto both = co_await copy_in(R"({"new": "1", "new/inside": "2"})");
    EXPECT_EQ(both.status, 400u) << error_message_of(both);
    auto dir = co_await copy_in(R"({"new": "1", "folder/": "2"})");
    EXPECT_EQ(dir.status, 400u) << error_message_of(dir);
    json::object everything;
    everything["pattern"] = "**";
    everything["hidden"] = true;
    auto left = co_await post("/glob", everything);
    EXPECT_THAT(paths_in(left), testing::ElementsAre("keep", "keep/x"));
  });
}

TEST_P(FileTreeApi, TarIn_IsUnpackedWholeOrNotAtAll) {
  serve([this]() -> Task<> {
    const std::string archive = tar_entry("d/one", "1") + tar_entry("two", std::string(100'000, '2')) + tar::end_mark();
    auto copied = co_await copy_tar(archive);
    EXPECT_EQ(copied.status, 200u) << copied.body;
    EXPECT_EQ(json::parse(copied.body), json::parse(R"({"files": 2, "bytes": 100001})"));
    const std::string one = co_await text_of("d/one");
    EXPECT_EQ(one, "1");

    auto half = co_await copy_tar(tar_entry("three", "3") + archive.substr(0, 2000));
    EXPECT_EQ(half.status, 400u) << half.body;
    auto outside = co_await copy_tar(tar_entry("four", "4") + tar_entry("../five", "5") + tar::end_mark());
    EXPECT_EQ(outside.status, 400u) << outside.body;
    auto absolute = co_await copy_tar(tar_entry("four", "4") + tar_entry("/tmp/five", "5") + tar::end_mark());
    EXPECT_EQ(absolute.status, 400u) << absolute.body;
    auto nonsense = co_await copy_tar(std::string(5000, 'x'));
    EXPECT_EQ(nonsense.status, 400u) << nonsense.body;
    std::string bomb;
    for (int i = 0; i < 10'001; ++i) bomb += tar_entry(std::to_string(i), "");
    auto too_many = co_await copy_tar(bomb + tar::end_mark());
    EXPECT_EQ(too_many.status, 413u) << too_many.body;
    auto too_large = co_await copy_tar(tar_entry("big", std::string(70 << 20, 'x')) + tar::end_mark());
    EXPECT_EQ(too_large.status, 413u) << too_large.body;
    http::Fields gzip{{"Content-Type", "application/gzip"}};
    auto zipped = co_await raw("POST", below_session("/copy"), gzip, "x");
    EXPECT_EQ(zipped.status, 415u);
    json::object everything;
    everything["pattern"] = "**";
    everything["hidden"] = true;
    auto left = co_await post("/glob", everything);
    EXPECT_THAT(paths_in(left), testing::ElementsAre("d", "d/one", "two"));
  });
}

TEST_P(FileTreeApi, TarOut_ComesBackIn) {
  serve([this]() -> Task<> {
    co_await copy_in(R"({"d/one": "1", "d/e/two": {"content": "2", "mode": "0700"}, "three": "3"})");
    http::Fields none;
    auto out = co_await raw("GET", below_session("/copy?path=d"), none, "");
    EXPECT_EQ(out.status, 200u) << out.body;
    EXPECT_EQ(out.field("Content-Type"), "application/x-tar");
    EXPECT_EQ(out.field("Content-Disposition"), "attachment; filename=\"s1.tar\"");
    session_ = "s2";
    auto copied = co_await copy_tar(out.body);
    EXPECT_EQ(copied.status, 200u) << copied.body;
    const std::string listed = co_await shell("find . -type f -printf '%m %P\\n' | sort");
    EXPECT_EQ(listed, "644 one\r\n700 e/two\r\n");
    auto missing = co_await raw("GET", below_session("/copy?path=none"), none, "");
    EXPECT_EQ(missing.status, 404u);
    auto outside = co_await raw("GET", below_session("/copy?path=/proc"), none, "");
    EXPECT_EQ(outside.status, 403u);
    auto above = co_await raw("GET", below_session("/copy?path=../etc"), none, "");
    EXPECT_EQ(above.status, 400u);
  });
}

TEST_P(FileTreeApi, OtherSession_HasOtherFiles) {
  serve([this]() -> Task<> {
    co_await write("mine", "1");
    session_ = "s2";
    json::object body;
    body["path"] = "mine";
    auto read = co_await post("/read", body);
    EXPECT_EQ(read.status, 404u);
  });
}

std::vector<Target> file_tree_targets() { return {{"oci", "crun"}, {"oci", "runsc"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, FileTreeApi, testing::ValuesIn(file_tree_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
