// Files of a sandbox as E2B's clients list, move, read, write and watch them.
#include <boost/json/parse.hpp>

#include "dialect/e2b/envd/signature.hpp"
#include "dialect/e2b/envd/watchers.hpp"
#include "envd/with_envd.hpp"

namespace cloche {

namespace {

using dialect::e2b::Watchers;
using session::SessionStore;
using testing::HasSubstr;
using testing::Not;

class EnvdFiles : public WithEnvd {
 protected:
  Task<http::Response> fs(std::string method, std::string message) {
    co_return co_await call("filesystem.Filesystem/" + method, message);
  }
  Task<http::Response> put(std::string path, std::string content, std::string fields = "") {
    co_return co_await ask("POST", "/files?path=" + path, "Content-Type: application/octet-stream\r\n" + fields,
                           content);
  }
  Task<http::Response> get(std::string path, std::string fields = "") {
    co_return co_await ask("GET", "/files?path=" + path, fields, "");
  }
};

TEST_P(EnvdFiles, StatMakeMoveListRemove_DoWhatTheyAreCalled) {
  in_envd([&](SessionStore&) -> Task<> {
    auto answer = co_await fs("MakeDir", R"({"path":"/tmp/d/e"})");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(R"("type":"FILE_TYPE_DIRECTORY","path":"/tmp/d/e")"));
    EXPECT_THAT(answer.body, HasSubstr(R"("permissions":"drwxr-xr-x")"));
    answer = co_await fs("MakeDir", R"({"path":"/tmp/d/e"})");
    EXPECT_EQ(answer.status, 409U);
    EXPECT_EQ((co_await put("/tmp/d/f", "12345")).status, 200U);
    answer = co_await fs("MakeDir", R"({"path":"/tmp/d/f"})");
    EXPECT_EQ(answer.status, 400U);
    EXPECT_THAT(answer.body, HasSubstr("not a directory"));
    answer = co_await fs("Stat", R"({"path":"/tmp/d/f"})");
    EXPECT_THAT(answer.body,
                HasSubstr(R"("name":"f","type":"FILE_TYPE_FILE","path":"/tmp/d/f","size":"5","mode":420)"));
    answer = co_await fs("Move", R"({"source":"/tmp/d/f","destination":"/tmp/new/place/g"})");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(R"("path":"/tmp/new/place/g")"));
    answer = co_await fs("Move", R"({"source":"/tmp/d/f","destination":"/tmp/x"})");
    EXPECT_EQ(answer.status, 404U);
    answer = co_await fs("Remove", R"({"path":"/tmp/d"})");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.body, "{}");
    answer = co_await fs("Remove", R"({"path":"/tmp/d"})");
    EXPECT_EQ(answer.status, 200U);
    answer = co_await fs("Stat", R"({"path":"/tmp/d"})");
    EXPECT_EQ(answer.status, 404U);
    EXPECT_THAT(answer.body, HasSubstr(R"("code":"not_found")"));
  });
}

TEST_P(EnvdFiles, List_HasDepthAndOrder) {
  in_envd([&](SessionStore&) -> Task<> {
    co_await shell_stream("mkdir -p /tmp/t/a/b/c /tmp/t/a.b && ln -s a /tmp/t/link && ln -s nowhere /tmp/t/dangling");
    const auto paths = [](const http::Response& answer) {
      std::string all;
      const auto body = boost::json::parse(answer.body);
      for (const auto& entry : body.at("entries").as_array()) all += std::string(entry.at("path").as_string()) + " ";
      return all;
    };
    auto answer = co_await fs("ListDir", R"({"path":"/tmp/t"})");
    EXPECT_EQ(paths(answer), "/tmp/t/a /tmp/t/a.b /tmp/t/dangling /tmp/t/link ");
    EXPECT_THAT(answer.body, HasSubstr(R"("symlinkTarget":"/tmp/t/a")"));
    answer = co_await fs("ListDir", R"({"path":"/tmp/t","depth":2})");
    EXPECT_EQ(paths(answer), "/tmp/t/a /tmp/t/a/b /tmp/t/a.b /tmp/t/dangling /tmp/t/link ");
    answer = co_await fs("ListDir", R"({"path":"/tmp/t/a.b"})");
    EXPECT_EQ(answer.body, "{}");
    answer = co_await fs("ListDir", R"({"path":"/tmp/none"})");
    EXPECT_EQ(answer.status, 404U);
    co_await put("/tmp/file", "x");
    answer = co_await fs("ListDir", R"({"path":"/tmp/file"})");
    EXPECT_EQ(answer.status, 400U);
  });
}

TEST_P(EnvdFiles, Kernel_HasNoFilesHere) {
  in_envd([&](SessionStore&) -> Task<> {
    EXPECT_NE((co_await get("/proc/self/environ")).status, 200U);
    EXPECT_NE((co_await put("/proc/self/comm", "x")).status, 200U);
  });
}

TEST_P(EnvdFiles, Content_IsWrittenAndReadWholeOrInPart) {
  in_envd([&](SessionStore&) -> Task<> {
    auto answer = co_await put("/tmp/deep/er/x.txt", "0123456789");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.body, R"([{"path":"/tmp/deep/er/x.txt","name":"x.txt","type":"file"}])");
    answer = co_await get("/tmp/deep/er/x.txt");
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.body, "0123456789");
    const std::string tag(answer.field("ETag"));
    answer = co_await get("/tmp/deep/er/x.txt", "Range: bytes=2-4\r\n");
    EXPECT_EQ(answer.status, 206U);
    EXPECT_EQ(answer.body, "234");
    answer = co_await get("/tmp/deep/er/x.txt", "Range: bytes=20-\r\n");
    EXPECT_EQ(answer.status, 416U);
    answer = co_await get("/tmp/deep/er/x.txt", "If-None-Match: " + tag + "\r\n");
    EXPECT_EQ(answer.status, 304U);
    EXPECT_EQ((co_await ask("HEAD", "/files?path=/tmp/deep/er/x.txt", "", "")).status, 200U);
    answer = co_await put("/tmp/empty", "");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    answer = co_await get("/tmp/empty");
    EXPECT_EQ(answer.field("Content-Length"), "0");
    answer = co_await get("/tmp/none");
    EXPECT_EQ(answer.status, 404U);
    EXPECT_THAT(answer.body, HasSubstr("path '/tmp/none' does not exist"));
    EXPECT_EQ((co_await get("/tmp")).status, 400U);
    EXPECT_EQ((co_await put("/tmp", "x")).status, 400U);
  });
}

TEST_P(EnvdFiles, Multipart_WritesEachFile) {
  in_envd([&](SessionStore&) -> Task<> {
    const auto part = [](const std::string& name, const std::string& content) {
      return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
             "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + content + "\r\n";
    };
    const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
    const std::string large(3'000'000, 'x');
    auto answer =
        co_await ask("POST", "/files", type, part("/tmp/m/ünï.txt", "one") + part("/tmp/m/two", large) + "--b--");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(R"({"path":"/tmp/m/ünï.txt","name":"ünï.txt","type":"file"})"));
    EXPECT_EQ((co_await get("/tmp/m/two")).body, large);
    answer = co_await ask("POST", "/files?path=/tmp/m/three", type, part("ignored", "3") + "--b--");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    EXPECT_EQ((co_await get("/tmp/m/three")).body, "3");
    answer = co_await ask("POST", "/files?path=/tmp/m/four", type, part("a", "3") + part("b", "4") + "--b--");
    EXPECT_EQ(answer.status, 400U);
  });
}

TEST_P(EnvdFiles, Signature_IsEnoughForItsPath) {
  in_envd([&](SessionStore&) -> Task<> {
    co_await put("/tmp/s", "secret");
    calling_.authorized = false;
    const auto signed_by = [](std::string_view operation, std::string_view path, std::string_view token) {
      std::string signature = dialect::e2b::sign_use({path, operation, ""}, token, std::nullopt);
      std::string encoded;
      for (const char c : signature) encoded += c == '+' ? "%2B" : c == '/' ? "%2F" : std::string(1, c);
      return std::string(path) + "&signature=" + encoded;
    };
    auto answer = co_await get(signed_by("read", "/tmp/s", "token"));
    EXPECT_EQ(answer.body, "secret");
    EXPECT_EQ((co_await get("/tmp/s")).status, 401U);
    EXPECT_EQ((co_await get(signed_by("write", "/tmp/s", "token"))).status, 401U);
    EXPECT_EQ((co_await get(signed_by("read", "/tmp/s", "other"))).status, 401U);
    EXPECT_EQ((co_await put("/tmp/s", "x")).status, 401U);
    EXPECT_EQ((co_await put(signed_by("write", "/tmp/s", "token"), "new")).status, 200U);
    answer = co_await get(signed_by("read", "/tmp/s", "token"));
    EXPECT_EQ(answer.body, "new");
    EXPECT_EQ((co_await ask("POST", "/files/compose", "Content-Type: application/json\r\n", "{}")).status, 401U);
  });
}

TEST_P(EnvdFiles, Compose_JoinsFiles) {
  in_envd([&](SessionStore&) -> Task<> {
    co_await put("/tmp/1", "one ");
    co_await put("/tmp/2", "two");
    auto answer = co_await ask("POST", "/files/compose", "Content-Type: application/json\r\n",
                               R"({"source_paths":["/tmp/1","/tmp/2"],"destination":"/tmp/12"})");
    EXPECT_EQ(answer.status, 200U) << answer.body;
    EXPECT_EQ((co_await get("/tmp/12")).body, "one two");
    EXPECT_EQ((co_await get("/tmp/1")).status, 404U);
    answer = co_await ask("POST", "/files/compose", "Content-Type: application/json\r\n",
                          R"({"source_paths":["/tmp/none"],"destination":"/tmp/x"})");
    EXPECT_EQ(answer.status, 404U);
    answer = co_await ask("POST", "/files/compose", "Content-Type: application/json\r\n",
                          R"({"source_paths":[],"destination":"/tmp/x"})");
    EXPECT_EQ(answer.status, 400U);
  });
}

TEST_P(EnvdFiles, WrongBodies_AreRefused) {
  in_envd([&](SessionStore&) -> Task<> {
    EXPECT_EQ((co_await ask("POST", "/files?path=/tmp/x", "Content-Type: text/plain\r\n", "x")).status, 415U);
    EXPECT_EQ((co_await put("/tmp/x", "x", "Content-Encoding: br\r\n")).status, 415U);
    EXPECT_EQ((co_await put("/tmp/x", "not gzip at all", "Content-Encoding: gzip\r\n")).status, 400U);
    EXPECT_EQ((co_await ask("POST", "/files", "Content-Type: application/octet-stream\r\n", "x")).status, 400U);
    const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
    EXPECT_EQ((co_await ask("POST", "/files", type, "--b\r\n")).status, 400U);
    EXPECT_EQ((co_await get("/tmp/x")).status, 404U);
  });
}

TEST_P(EnvdFiles, Environment_IsThatOfTheSession) {
  in_envd([&](SessionStore& store) -> Task<> {
    session::SessionOptions options;
    options.env["A"] = "b";
    auto made = co_await store.create(tenant(), "s1", std::move(options), soon());
    EXPECT_TRUE(made) << made.error().message;
    const auto answer = co_await ask("GET", "/envs", "", "");
    EXPECT_EQ(answer.body, R"({"E2B_SANDBOX":"true","E2B_SANDBOX_ID":"s1","A":"b"})");
  });
}

TEST_P(EnvdFiles, Stream_ReportsWhatChanges) {
  in_envd([&](SessionStore&) -> Task<> {
    co_await fs("MakeDir", R"({"path":"/tmp/w"})");
    const auto stream = co_await open("filesystem.Filesystem/WatchDir", R"({"path":"/tmp/w","includeEntry":true})");
    EXPECT_TRUE(co_await stream->wait_for(R"({"start":{}})"));
    co_await shell_stream("echo x > /tmp/w/f; chmod 600 /tmp/w/f; mv /tmp/w/f /tmp/w/g; rm /tmp/w/g");
    EXPECT_TRUE(co_await stream->wait_for(R"({"filesystem":{"name":"f","type":"EVENT_TYPE_CREATE")"));
    EXPECT_TRUE(co_await stream->wait_for(R"("type":"EVENT_TYPE_WRITE")"));
    EXPECT_TRUE(co_await stream->wait_for(R"("type":"EVENT_TYPE_RENAME")"));
    EXPECT_TRUE(co_await stream->wait_for(R"({"filesystem":{"name":"g","type":"EVENT_TYPE_REMOVE")"));
    auto wrong = co_await open("filesystem.Filesystem/WatchDir", R"({"path":"/tmp/none"})");
    EXPECT_THAT(co_await wrong->rest(), HasSubstr("not_found"));
    co_await put("/tmp/file", "x");
    wrong = co_await open("filesystem.Filesystem/WatchDir", R"({"path":"/tmp/file"})");
    EXPECT_THAT(co_await wrong->rest(), HasSubstr("invalid_argument"));
  });
}

std::string id_in(const http::Response& answer) {
  return std::string(boost::json::parse(answer.body).at("watcherId").as_string());
}

TEST_P(EnvdFiles, Watcher_KeepsEventsUntilTheyAreAskedFor) {
  in_envd([&](SessionStore&) -> Task<> {
    const std::string id = id_in(co_await fs("CreateWatcher", R"({"path":"/tmp"})"));
    co_await put("/tmp/x", "x");
    const std::string ask_for = R"({"watcherId":")" + id + "\"}";
    std::string all;
    const Deadline late = Deadline::after(60s);
    while (all.find("EVENT_TYPE_CREATE") == std::string::npos && !late.passed()) {
      all += (co_await fs("GetWatcherEvents", ask_for)).body;
      co_await pause_for(10ms);
    }
    EXPECT_THAT(all, HasSubstr(R"("name":"x")"));
    EXPECT_EQ((co_await fs("RemoveWatcher", ask_for)).status, 200U);
    EXPECT_EQ((co_await fs("RemoveWatcher", ask_for)).status, 404U);
    EXPECT_EQ((co_await fs("GetWatcherEvents", ask_for)).status, 404U);
  });
}

TEST_P(EnvdFiles, Watchers_AreBoundedInNumberQueueAndTime) {
  in_envd([&](SessionStore& store) -> Task<> {
    auto use = co_await store.use(tenant(), "s1", soon());
    auto& watchers = (*use)->part<Watchers>();
    dialect::e2b::WatchersOptions options;
    options.most = 2;
    options.most_events = 10;
    watchers.set_options(options);
    const std::string id = id_in(co_await fs("CreateWatcher", R"({"path":"/tmp"})"));
    co_await fs("CreateWatcher", R"({"path":"/tmp"})");
    EXPECT_EQ((co_await fs("CreateWatcher", R"({"path":"/tmp"})")).status, 429U);
    co_await shell_stream("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo x > /tmp/n$i; done");
    const std::string ask_for = R"({"watcherId":")" + id + "\"}";
    const Deadline late = Deadline::after(60s);
    bool lost = false;
    while (!lost && !late.passed()) {
      co_await pause_for(50ms);
      lost = (co_await fs("GetWatcherEvents", ask_for)).status == 500U;
    }
    EXPECT_TRUE(lost);
    options.unused_for = std::chrono::milliseconds(1);
    watchers.set_options(options);
    co_await fs("GetWatcherEvents", ask_for);
    co_await put("/tmp/y", "x");
    while (watchers.size() > 0 && !late.passed()) co_await pause_for(10ms);
    EXPECT_EQ(watchers.size(), 0U);
  });
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Backends, EnvdFiles, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
