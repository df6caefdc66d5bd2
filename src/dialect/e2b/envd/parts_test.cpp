// What of envd needs no sandbox: paths, messages, descriptions of files, signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <csignal>

#include "dialect/e2b/envd/entry_info.hpp"
#include "dialect/e2b/envd/paths.hpp"
#include "dialect/e2b/envd/process_messages.hpp"
#include "dialect/e2b/envd/signature.hpp"

namespace cloche::dialect::e2b {
namespace {

using namespace std::string_literals;
using connect::ProtoObject;
using wire::FileType;

TEST(ResolvePath, EachForm_IsAbsolute) {
  const auto of = [](std::string_view path) { return resolve_path(path, "/home/user").value_or("error"); };
  EXPECT_EQ(of("/etc/passwd"), "/etc/passwd");
  EXPECT_EQ(of("a/b"), "/home/user/a/b");
  EXPECT_EQ(of(""), "/home/user");
  EXPECT_EQ(of("~"), "/home/user");
  EXPECT_EQ(of("~/x"), "/home/user/x");
  EXPECT_EQ(of("~other/x"), "error");
  EXPECT_EQ(of("../x"), "/home/x");
  EXPECT_EQ(of("/../../x//y/./z/"), "/x/y/z");
  EXPECT_EQ(of("/"), "/");
  EXPECT_EQ(of("/a/.."), "/");
  EXPECT_EQ(of("ünï/日本"), "/home/user/ünï/日本");
  EXPECT_EQ(of("a\0b"s), "error");
  EXPECT_EQ(of("\xff"), "error");
  EXPECT_EQ(of(std::string(4097, 'x')), "error");
  EXPECT_EQ(name_of_path("/a/b"), "b");
  EXPECT_EQ(name_of_path("/"), "/");
}

TEST(Signature, TestVector_IsReproduced) {
  const SignedUse use{"hello.txt", "read", "user"};
  constexpr std::string_view token = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
  EXPECT_EQ(sign_use(use, token, std::nullopt), "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  const WallTime now{std::chrono::seconds(1000)};
  EXPECT_TRUE(check_signature(use, token, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E", std::nullopt, now));
  const auto off_by_one =
      check_signature(use, token, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6F", std::nullopt, now);
  ASSERT_FALSE(off_by_one);
  EXPECT_EQ(off_by_one.error().message, "invalid signature");
  EXPECT_EQ(check_signature(use, token, std::nullopt, std::nullopt, now).error().message,
            "missing signature query parameter");
}

TEST(Signature, OtherUse_IsNotAllowed) {
  const std::string signature = sign_use({"a", "read", ""}, "token", std::nullopt);
  const WallTime now{std::chrono::seconds(1000)};
  EXPECT_TRUE(check_signature({"a", "read", ""}, "token", signature, std::nullopt, now));
  EXPECT_FALSE(check_signature({"a", "write", ""}, "token", signature, std::nullopt, now));
  EXPECT_FALSE(check_signature({"b", "read", ""}, "token", signature, std::nullopt, now));
  EXPECT_FALSE(check_signature({"a", "read", "root"}, "token", signature, std::nullopt, now));
  EXPECT_FALSE(check_signature({"a", "read", ""}, "other", signature, std::nullopt, now));
  EXPECT_FALSE(check_signature({"a", "read", ""}, "token", signature, "2000", now));
}

TEST(Signature, Expiration_IsCheckedByTheServersClock) {
  const SignedUse use{"a", "write", ""};
  const std::string signature = sign_use(use, "token", "1000");
  const auto at = [&](int seconds) {
    return check_signature(use, "token", signature, "1000", WallTime{std::chrono::seconds(seconds)});
  };
  EXPECT_TRUE(at(999));
  EXPECT_TRUE(at(1000));
  EXPECT_EQ(at(1001).error().message, "signature is already expired");
  EXPECT_FALSE(check_signature(use, "token", signature, std::nullopt, WallTime{}));
  const std::string words = sign_use(use, "token", "soon");
  EXPECT_FALSE(check_signature(use, "token", words, "soon", WallTime{}));
}

TEST(GoMode, Modes_AreWrittenAsGoDoes) {
  EXPECT_EQ(go_mode(FileType::regular, 0644), "-rw-r--r--");
  EXPECT_EQ(go_mode(FileType::directory, 0755), "drwxr-xr-x");
  EXPECT_EQ(go_mode(FileType::symlink, 0777), "Lrwxrwxrwx");
  EXPECT_EQ(go_mode(FileType::directory, 01777), "dtrwxrwxrwx");
  EXPECT_EQ(go_mode(FileType::regular, 04755), "urwxr-xr-x");
  EXPECT_EQ(go_mode(FileType::fifo, 0600), "prw-------");
}

TEST(TimestampText, Fractions_HaveNineDigits) {
  EXPECT_EQ(timestamp_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(timestamp_text(1'700'000'000'000'000'001), "2023-11-14T22:13:20.000000001Z");
}

TEST(EntryInfo, File_HasAllFields) {
  SandboxSpec spec;
  wire::FileEntry entry;
  entry.type = FileType::regular;
  entry.size = 5'000'000'000;
  entry.mode = 0640;
  entry.uid = 4242;
  entry.gid = 0;
  entry.attributes = {{"user.e2b.author", "me"}, {"user.other", "x"}};
  EXPECT_EQ(json::value(entry_info(entry, "/a/b", OwnerNames(spec))), boost::json::parse(R"({
    "name": "b", "type": "FILE_TYPE_FILE", "path": "/a/b", "size": "5000000000", "mode": 416,
    "permissions": "-rw-r-----", "owner": "4242", "group": "root", "modifiedTime": "1970-01-01T00:00:00Z",
    "metadata": {"author": "me"}})"));
}

TEST(EntryInfo, Link_HasTypeAndModeOfItsTarget) {
  SandboxSpec spec;
  wire::FileEntry entry;
  entry.type = FileType::symlink;
  entry.mode = 0777;
  entry.target_type = FileType::directory;
  entry.target_mode = 0755;
  entry.resolved = "/x";
  const json::object info = entry_info(entry, "/l", OwnerNames(spec));
  EXPECT_EQ(info.at("type"), "FILE_TYPE_DIRECTORY");
  EXPECT_EQ(info.at("mode"), 0755);
  EXPECT_EQ(info.at("permissions"), "Lrwxrwxrwx");
  EXPECT_EQ(info.at("symlinkTarget"), "/x");
  entry.target_type = FileType::other;
  entry.resolved.clear();
  const json::object dangling = entry_info(entry, "/l", OwnerNames(spec));
  EXPECT_FALSE(dangling.contains("type"));
  EXPECT_EQ(dangling.at("symlinkTarget"), "/l");
}

class ProcessMessages : public testing::Test {
 protected:
  ProtoObject object(std::string_view text) {
    value_ = boost::json::parse(text);
    return ProtoObject::of(value_).value();
  }
  json::value value_;
};

TEST_F(ProcessMessages, Start_IsRead) {
  const auto plain = read_start(object(R"({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "ls"]},
                                           "stdin": false})"));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->config.command, "/bin/bash");
  EXPECT_EQ(plain->config.args.size(), 3U);
  EXPECT_FALSE(plain->has_stdin);
  EXPECT_FALSE(plain->terminal);
  const auto full = read_start(object(R"({"process": {"cmd": "sh", "envs": {"A": "b"}, "cwd": "x"}, "tag": "t",
                                          "pty": {"size": {"cols": 10, "rows": 20}}})"));
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_TRUE(full->has_stdin);
  EXPECT_EQ(full->terminal->columns, 10U);
  EXPECT_EQ(full->terminal->rows, 20U);
  EXPECT_EQ(full->tag, "t");
  for (const char* text : {"{}", R"({"process": {}})", R"({"process": {"cmd": ""}})", R"({"process": {"cmd": 1}})",
                           R"({"process": {"cmd": "x"}, "pty": {"size": {"cols": 100000}}})"}) {
    EXPECT_FALSE(read_start(object(text))) << text;
  }
}

TEST_F(ProcessMessages, SelectorInputAndSignal_AreRead) {
  EXPECT_EQ(read_selector(object(R"({"process": {"pid": 7}})"))->pid, 7U);
  EXPECT_EQ(read_selector(object(R"({"process": {"tag": "t"}})"))->tag, "t");
  EXPECT_FALSE(read_selector(object(R"({"process": {}})")));
  EXPECT_FALSE(read_selector(object(R"({"process": {"pid": 1, "tag": "t"}})")));
  const auto input = read_input(object(R"({"input": {"pty": "aGk="}})"));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->kind, ProcessInput::Kind::terminal_bytes);
  EXPECT_EQ(input->bytes, "hi");
  EXPECT_FALSE(read_input(object(R"({"input": {}})")));
  EXPECT_EQ(read_signal(object(R"({"signal": "SIGNAL_SIGKILL"})")).value(), SIGKILL);
  EXPECT_EQ(read_signal(object(R"({"signal": 15})")).value(), SIGTERM);
  EXPECT_EQ(read_signal(object(R"({"signal": 1})")).error().code, connect::Code::unimplemented);
}

TEST_F(ProcessMessages, Label_KeepsTagAndDirectory) {
  ProcessInfo info;
  info.tag = "tag \"1\"";
  info.config.cwd = "/x";
  info.has_terminal = true;
  const auto again = info_of_label(label_of(info), {"sh", "-c", "x"}, 5);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->tag, info.tag);
  EXPECT_EQ(again->config.cwd, "/x");
  EXPECT_EQ(again->config.command, "sh");
  EXPECT_EQ(again->config.args.size(), 2U);
  EXPECT_TRUE(again->has_terminal);
  EXPECT_FALSE(again->has_stdin);
  info.config.cwd = std::string(4096, 'x');
  EXPECT_LE(label_of(info).size(), 4096U);
  EXPECT_FALSE(info_of_label("other", {}, 1));
  EXPECT_FALSE(info_of_label("e2b:{", {}, 1));
}

TEST_F(ProcessMessages, Ends_AreInTheWordsOfGo) {
  Outcome outcome;
  EXPECT_EQ(json::value(end_event(outcome)),
            boost::json::parse(R"({"event": {"end": {"exited": true, "status": "exit status 0"}}})"));
  outcome.exit_code = 3;
  EXPECT_EQ(json::value(end_event(outcome)), boost::json::parse(R"({"event": {"end": {"exitCode": 3, "exited": true,
      "status": "exit status 3", "error": "exit status 3"}}})"));
  outcome.exit_code = 137;
  outcome.signal = SIGKILL;
  EXPECT_EQ(json::value(end_event(outcome)), boost::json::parse(R"({"event": {"end": {"exitCode": -1,
      "status": "signal: killed", "error": "signal: killed"}}})"));
  outcome.signal = 40;
  EXPECT_EQ(end_event(outcome)["event"].at("end").at("status"), "signal: signal 40");
}

}  // namespace
}  // namespace cloche::dialect::e2b
