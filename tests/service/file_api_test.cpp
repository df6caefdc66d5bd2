// Text and bytes of a session's files over HTTP: what is asked for, what is refused, and what is said of every cut.
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>

#include "service/file_api.hpp"

namespace cloche {

namespace json = boost::json;

namespace {

// Of this process, which is server and client.
Bytes peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t size = 0;
    if (word == "VmHWM:" && status >> size) return kib(size);
  }
  return Bytes{0};
}
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

TEST_P(FileApi, WrittenText_IsReadByLines) {
  serve([this]() -> Task<> {
    const std::string content = "one\ntwo\nthr\u00e9e\nfour\n";
    auto written = co_await write("deep/er/notes.txt", content);
    EXPECT_EQ(written.status, 200u) << error_message_of(written);
    EXPECT_EQ(written.text("path"), "deep/er/notes.txt");
    EXPECT_EQ(written.number("size"), static_cast<std::int64_t>(content.size()));

    json::object some;
    some["path"] = "deep/er/notes.txt";
    some["offset"] = 1;
    some["limit"] = 2;
    auto read = co_await post("/read", some);
    EXPECT_EQ(read.text("content"), "two\nthr\u00e9e\n");
    EXPECT_EQ(read.number("lines"), 2);
    EXPECT_EQ(read.number("total_lines"), 4);
    EXPECT_EQ(read.number("next_offset"), 3);
    EXPECT_EQ(read.number("size"), static_cast<std::int64_t>(content.size()));
    EXPECT_EQ(read.body.at("truncated"), true);
    EXPECT_EQ(read.body.at("total_lines_exact"), true);

    // By its absolute name, and with the prefix that a gateway leaves on.
    json::object absolute;
    absolute["path"] = "/workspace/deep/er/notes.txt";
    auto again = co_await post("/v1/sandbox/read", absolute);
    EXPECT_EQ(again.text("content"), content) << error_message_of(again);
    EXPECT_EQ(again.text("path"), "deep/er/notes.txt");
    EXPECT_EQ(again.body.at("truncated"), false);
    EXPECT_EQ(again.body.at("next_offset"), nullptr);
  });
}

TEST_P(FileApi, WriteWithModeAndAppend_DoesAsItSays) {
  serve([this]() -> Task<> {
    json::object script;
    script["path"] = "run.sh";
    script["content"] = "#!/bin/sh\necho ran\n";
    script["mode"] = "0755";
    auto written = co_await post("/write", script);
    EXPECT_EQ(written.status, 200u) << error_message_of(written);
    json::object more;
    more["path"] = "run.sh";
    more["content_base64"] = "ZWNobyB0d2ljZQo=";
    more["append"] = true;
    auto appended = co_await post("/write", more);
    EXPECT_EQ(appended.number("size"), 19 + 11) << error_message_of(appended);
    const std::string printed = co_await shell("./run.sh");
    EXPECT_EQ(printed, "ran\r\ntwice\r\n");
  });
}

TEST_P(FileApi, PathsThatAreNone_AreBadRequests) {
  serve([this]() -> Task<> {
    const std::string paths[] = {
        "", "../x", "a/../../x", std::string("a\0b", 3), "/workspace/..", "/tmp/../etc/passwd"};
    for (const std::string& path : paths) {
      for (const char* route : {"/read", "/read_binary", "/write", "/grep", "/glob"}) {
        json::object body;
        body["path"] = path;
        if (std::string_view(route) == "/write") body["content"] = "x";
        if (std::string_view(route) == "/grep" || std::string_view(route) == "/glob") body["pattern"] = "x";
        auto answered = co_await post(route, body);
        EXPECT_EQ(answered.status, 400u) << route << " " << path;
        EXPECT_EQ(error_code_of(answered), "invalid_argument");
      }
      json::object files;
      files[path] = "x";
      json::object copy;
      copy["files"] = files;
      std::string text = json::serialize(copy);
      auto copied = co_await call("POST", below_session("/copy"), std::move(text));
      EXPECT_EQ(copied.status, 400u) << path;
    }
  });
}

TEST_P(FileApi, PathsOutsideTheWorkspace_AreThoseOfTheUser) {
  serve([this]() -> Task<> {
    auto written = co_await write("/tmp/x/notes", "text\n");
    EXPECT_EQ(written.status, 200u) << error_message_of(written);
    EXPECT_EQ(written.text("path"), "/tmp/x/notes");
    const std::string read = co_await text_of("/tmp/x/notes");
    EXPECT_EQ(read, "text\n");
    json::object search;
    search["path"] = "/tmp/x";
    search["pattern"] = "t.xt";
    auto found = co_await post("/grep", search);
    EXPECT_EQ(found.body.at("matches").at(0).at("path"), "/tmp/x/notes") << json::serialize(found.body);
    auto refused = co_await write("/etc/new", "x");
    EXPECT_EQ(refused.status, 403u) << error_message_of(refused);
    co_await shell("ln -s /proc/self/environ /tmp/env");
    for (const char* path : {"/proc/self/environ", "/sys/kernel/notes", "/tmp/env"}) {
      json::object body;
      body["path"] = path;
      auto kernel = co_await post("/read_binary", body);
      EXPECT_TRUE(kernel.status == 403u || kernel.status == 400u) << path << error_message_of(kernel);
    }
    json::object files;
    files["/tmp/y"] = "x";
    json::object copy;
    copy["files"] = files;
    std::string text = json::serialize(copy);
    auto copied = co_await call("POST", below_session("/copy"), std::move(text));
    EXPECT_EQ(copied.status, 400u) << "copies go below the workspace";
  });
}

TEST_P(FileApi, ReadOnlyFile_IsForbiddenToAllWays_AndModesAreKept) {
  serve([this]() -> Task<> {
    co_await shell("echo kept > f; chmod 444 f; echo x > script; chmod 755 script");
    auto written = co_await write("f", "changed");
    EXPECT_EQ(written.status, 403u) << error_message_of(written);
    json::object append;
    append["path"] = "f";
    append["content"] = "more";
    append["append"] = true;
    auto appended = co_await post("/write", append);
    EXPECT_EQ(appended.status, 403u);
    json::object edit;
    edit["path"] = "f";
    edit["old"] = "kept";
    edit["new"] = "changed";
    auto edited = co_await post("/edit", edit);
    EXPECT_EQ(edited.status, 403u);
    std::string text = R"({"files": {"g": "new", "f": "changed"}})";
    auto copied = co_await call("POST", below_session("/copy"), std::move(text));
    EXPECT_EQ(copied.status, 403u) << error_message_of(copied);
    json::object run;
    run["command"] = "true";
    run["files"] = json::object{{"f", "changed"}};
    auto ran = co_await post("/bash", run);
    EXPECT_EQ(ran.status, 403u) << error_message_of(ran);
    text = R"({"files": {"script": "y", "new": "n"}})";
    auto kept = co_await call("POST", below_session("/copy"), std::move(text));
    EXPECT_EQ(kept.status, 200u) << error_message_of(kept);
    const std::string printed = co_await shell("cat f; stat -c %a f script new; ls -1");
    EXPECT_EQ(printed, "kept\r\n444\r\n755\r\n644\r\nf\r\nnew\r\nscript\r\n");
  });
}

TEST_P(FileApi, Changes_DoAsTheySay) {
  serve([this]() -> Task<> {
    co_await write("d/f", "one\ntwo\n");
    const auto ask = [this](const char* route, std::string body) -> Task<Answered> {
      auto answered = co_await post(route, json::parse(body).as_object());
      co_return answered;
    };
    auto edited = co_await ask("/edit", R"({"path": "d/f", "old": "two", "new": "2"})");
    EXPECT_EQ(edited.number("replaced"), 1) << error_message_of(edited);
    auto again = co_await ask("/v1/sandbox/edit", R"({"path": "d/f", "old": "two", "new": "2"})");
    EXPECT_EQ(again.status, 409u);
    EXPECT_EQ(error_code_of(again), "no_match");
    auto about = co_await ask("/stat", R"({"path": "d/f"})");
    EXPECT_EQ(about.text("type"), "file");
    EXPECT_EQ(about.text("mode"), "0644");
    EXPECT_EQ(about.number("size"), 6);
    auto moved = co_await ask("/move", R"({"path": "d/f", "to": "/tmp/deep/f", "parents": true})");
    EXPECT_EQ(moved.status, 200u) << error_message_of(moved);
    co_await write("g", "x");
    auto taken = co_await ask("/move", R"({"path": "g", "to": "/tmp/deep/f"})");
    EXPECT_EQ(taken.status, 409u) << error_message_of(taken);
    auto made = co_await ask("/mkdir", R"({"path": "a/b", "parents": true})");
    EXPECT_EQ(made.body.at("created"), true);
    auto full = co_await ask("/delete", R"({"path": "a"})");
    EXPECT_EQ(full.status, 400u);
    auto gone = co_await ask("/delete", R"({"path": "a", "recursive": true})");
    EXPECT_EQ(gone.number("removed"), 2) << error_message_of(gone);
    for (const char* path : {".", "/workspace", "/", "/tmp"}) {
      json::object body;
      body["path"] = path;
      body["recursive"] = true;
      auto refused = co_await post("/delete", body);
      EXPECT_TRUE(refused.status == 400u || refused.status == 403u) << path << refused.status;
    }
    const std::string left = co_await text_of("/tmp/deep/f");
    EXPECT_EQ(left, "one\n2\n");
    auto one = co_await ask("/glob", R"({"path": "g", "pattern": "*"})");
    EXPECT_EQ(one.body.at("paths"), json::array({"g"})) << error_message_of(one);
  });
}

TEST_P(FileApi, BodiesThatAreWrong_AreRefusedWithWhatIsWrong) {
  serve([this]() -> Task<> {
    const std::string wrong[] = {"{",
                                 "[]",
                                 "\"x\"",
                                 R"({"session_id": "s1"})",
                                 R"({"session_id": "s1", "path": 7})",
                                 R"({"session_id": "s1", "path": "x", "offset": 1e99})",
                                 R"({"session_id": "s1", "path": "x", "offset": -1})",
                                 R"({"session_id": "s1", "path": "x", "ofset": 1})",
                                 R"({"session_id": "../s1", "path": "x"})",
                                 "{\"session_id\": \"s1\", \"path\": \"\xff\"}",
                                 std::string(1000, '[')};
    for (const std::string& body : wrong) {
      std::string text = body;
      auto answered = co_await call("POST", "/read", std::move(text));
      EXPECT_EQ(answered.status, 400u) << body;
      EXPECT_EQ(error_code_of(answered), "invalid_argument") << body;
      EXPECT_NE(error_message_of(answered), "") << body;
    }
    http::Fields plain;
    plain.emplace_back("Content-Type", "text/plain");
    auto typed = co_await raw("POST", "/read", plain, R"({"session_id": "s1", "path": "x"})");
    EXPECT_EQ(typed.status, 415u);
    // No valid request for a session was sent yet.
    auto listed = co_await call("GET", "/sessions");
    EXPECT_EQ(listed.body.at("sessions").as_array().size(), 0u);
  });
}

TEST_P(FileApi, WhatIsNoRegularFile_IsRefusedAtOnce) {
  serve([this]() -> Task<> {
    co_await shell("mkdir dir && mkfifo pipe && ln -s /etc/passwd out && ln -s / root && ln -s ../.. up");
    for (const char* path : {"dir", "pipe", "dir/", "."}) {
      json::object body;
      body["path"] = path;
      auto read = co_await post("/read", body);
      EXPECT_EQ(read.status, 400u) << path << error_message_of(read);
      auto bytes = co_await post("/read_binary", body);
      EXPECT_EQ(bytes.status, 400u) << path << error_message_of(bytes);
      body["content"] = "x";
      auto written = co_await post("/write", body);
      EXPECT_EQ(written.status, 400u) << path << error_message_of(written);
    }
    for (const char* path : {"out", "root/etc/passwd", "up/etc/passwd"}) {
      json::object body;
      body["path"] = path;
      auto read = co_await post("/read", body);
      EXPECT_EQ(read.status, 403u) << path << error_message_of(read);
      EXPECT_EQ(error_code_of(read), "permission_denied");
      body["content"] = "x";
      auto written = co_await post("/write", body);
      EXPECT_EQ(written.status, 403u) << path << error_message_of(written);
    }
    json::object missing;
    missing["path"] = "none";
    auto read = co_await post("/read", missing);
    EXPECT_EQ(read.status, 404u);
    EXPECT_EQ(error_code_of(read), "not_found");
  });
}

TEST_P(FileApi, BytesThatAreNoText_AreReadAsAsked) {
  serve([this]() -> Task<> {
    json::object body;
    body["path"] = "latin.txt";
    body["content_base64"] = "Y2Fm6Qo=";
    co_await post("/write", body);
    json::object read;
    read["path"] = "latin.txt";
    auto strict = co_await post("/read", read);
    EXPECT_EQ(strict.status, 400u);
    EXPECT_EQ(error_code_of(strict), "not_text");
    read["encoding"] = "latin-1";
    auto latin = co_await post("/read", read);
    EXPECT_EQ(latin.text("content"), "caf\u00e9\n");
    EXPECT_EQ(latin.text("encoding"), "latin-1");
    read["encoding"] = "replace";
    auto replaced = co_await post("/read", read);
    EXPECT_EQ(replaced.text("content"), "caf\ufffd\n");
    read.erase("encoding");
    auto bytes = co_await post("/read_binary", read);
    EXPECT_EQ(bytes.text("content"), "Y2Fm6Qo=");
    EXPECT_EQ(bytes.number("size"), 5);
    EXPECT_EQ(bytes.text("sha256").size(), 64u);
    EXPECT_EQ(bytes.body.at("truncated"), false);
    read["offset"] = 1;
    read["length"] = 2;
    auto part = co_await post("/read_binary", read);
    EXPECT_EQ(part.text("content"), "YWY=");
    EXPECT_EQ(part.number("length"), 2);
  });
}

TEST_P(FileApi, LargeFile_IsCutAndSaysSo) {
  serve([this]() -> Task<> {
    co_await shell("seq 1 1000000 > numbers; head -c 3000000 /dev/zero | tr '\\0' x > line");
    json::object body;
    body["path"] = "numbers";
    auto first = co_await post("/read", body);
    EXPECT_EQ(first.number("lines"), 2000);
    EXPECT_EQ(first.number("next_offset"), 2000);
    EXPECT_EQ(first.number("total_lines"), 1000000);
    body["limit"] = 1000000;
    body["offset"] = 900000;
    auto last = co_await post("/read", body);
    EXPECT_EQ(last.number("lines"), 100000);
    EXPECT_TRUE(last.text("content").starts_with("900001\n"));
    EXPECT_EQ(last.body.at("truncated"), false);
    json::object line;
    line["path"] = "line";
    auto cut = co_await post("/read", line);
    EXPECT_EQ(cut.text("content").size(), 1u << 20);
    EXPECT_EQ(cut.number("cut_lines"), 1);
    EXPECT_EQ(cut.body.at("truncated"), true);

    auto written = co_await write("big", std::string(17 << 20, 'x'));
    EXPECT_EQ(written.status, 200u) << error_message_of(written);
    json::object big;
    big["path"] = "big";
    auto bytes = co_await post("/read_binary", big);
    EXPECT_EQ(bytes.body.at("truncated"), true);
    EXPECT_EQ(bytes.number("length"), 16 << 20);
    EXPECT_EQ(bytes.number("size"), 17 << 20);
    auto full = co_await write("bigger", std::string(30 << 20, 'x'));
    EXPECT_EQ(full.status, 200u) << error_message_of(full);
    auto over = co_await write("too-big", std::string(30 << 20, 'x'));
    EXPECT_EQ(over.status, 413u) << "the workspace is full";
    EXPECT_THAT(error_message_of(over), HasSubstr("no space left"));
  });
}

TEST_P(FileApi, RawBytes_HaveTypeRangeAndValidator) {
  serve([this]() -> Task<> {
    co_await write("a b/page.html", "<!DOCTYPE html><p>hello</p>");
    const std::string target = below_session("/files/a%20b/page.html");
    http::Fields none;
    auto whole = co_await raw("GET", target, none, "");
    EXPECT_EQ(whole.status, 200u) << whole.body;
    EXPECT_EQ(whole.body, "<!DOCTYPE html><p>hello</p>");
    EXPECT_THAT(std::string(whole.field("Content-Type")), HasSubstr("text/html"));
    EXPECT_EQ(whole.field("Content-Security-Policy"), "sandbox");
    EXPECT_EQ(whole.field("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(whole.field("Content-Length"), "27");

    http::Fields some{{"Range", "bytes=15-17"}};
    auto part = co_await raw("GET", target, some, "");
    EXPECT_EQ(part.status, 206u);
    EXPECT_EQ(part.body, "<p>");
    EXPECT_EQ(part.field("Content-Range"), "bytes 15-17/27");
    http::Fields beyond{{"Range", "bytes=27-"}};
    auto unsatisfied = co_await raw("GET", target, beyond, "");
    EXPECT_EQ(unsatisfied.status, 416u);
    EXPECT_EQ(unsatisfied.field("Content-Range"), "bytes */27");
    http::Fields seen{{"If-None-Match", std::string(whole.field("ETag"))}};
    auto unchanged = co_await raw("GET", target, seen, "");
    EXPECT_EQ(unchanged.status, 304u);
    EXPECT_EQ(unchanged.body, "");

    http::Fields accept{{"Accept", "application/octet-stream"}, {"Content-Type", "application/json"}};
    auto posted = co_await raw("POST", "/read_binary", accept, R"({"session_id": "s1", "path": "a b/page.html"})");
    EXPECT_EQ(posted.body, whole.body);
    auto piece = co_await raw("POST", "/read_binary", accept,
                              R"({"session_id": "s1", "path": "a b/page.html", "offset": 15, "length": 3})");
    EXPECT_EQ(piece.status, 200u);
    EXPECT_EQ(piece.body, "<p>");
    auto behind =
        co_await raw("POST", "/read_binary", accept, R"({"session_id": "s1", "path": "a b/page.html", "offset": 500})");
    EXPECT_EQ(behind.status, 200u);
    EXPECT_EQ(behind.body, "");
  });
}

TEST_P(FileApi, RawPathsThatAreNone_AreRefused) {
  serve([this]() -> Task<> {
    co_await write("x", "1");
    http::Fields none;
    for (const char* path :
         {"/files/..%2fx", "/files/%2e%2e/x", "/files/", "/files/a%00b", "/files/.", "/files/%2fetc"}) {
      auto answered = co_await raw("GET", below_session(path), none, "");
      EXPECT_EQ(answered.status, 400u) << path << " " << answered.body;
    }
    auto missing = co_await raw("GET", below_session("/files/none"), none, "");
    EXPECT_EQ(missing.status, 404u);
    // A look makes no session.
    auto other = co_await raw("GET", "/sessions/default/never-made/files/x", none, "");
    EXPECT_EQ(other.status, 404u);
    auto out = co_await raw("GET", "/sessions/default/never-made/copy", none, "");
    EXPECT_EQ(out.status, 404u);
    auto listed = co_await call("GET", "/sessions");
    EXPECT_EQ(listed.body.at("sessions").as_array().size(), 1u);
  });
}

TEST_P(FileApi, BodyOf200Megabytes_IsTooLarge) {
  serve([this]() -> Task<> {
    forget_peak_memory();
    const Bytes before = peak_memory();
    for (const std::string& route : {std::string("/write"), std::string("/read"), below_session("/copy")}) {
      http::Request request;
      request.method = "POST";
      request.target = route;
      request.fields.emplace_back("Content-Type", "application/json");
      auto sent = std::make_shared<std::uint64_t>(0);
      // In chunks: the length is not announced.
      request.source = [sent]() -> Task<Result<std::string>> {
        constexpr std::uint64_t all = 200'000'000;
        const std::uint64_t size = std::min<std::uint64_t>(all - *sent, 1 << 20);
        *sent += size;
        co_return std::string(size, ' ');
      };
      auto answered = co_await client_->send(std::move(request), Deadline::after(100s));
      EXPECT_TRUE(answered) << answered.error().message;
      if (!answered) continue;
      EXPECT_EQ(answered->status, 413u) << route;
      EXPECT_THAT(answered->body, HasSubstr("too_large"));
    }
    // What is allowed is held once, and once more while it grows.
    EXPECT_LT(peak_memory().count, before.count + mib(170).count) << "what does not fit is not held";
  });
}

std::vector<Target> file_targets() { return {{"oci", "crun"}, {"oci", "runsc"}, {"docker", "runc"}}; }

INSTANTIATE_TEST_SUITE_P(Backends, FileApi, testing::ValuesIn(file_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
