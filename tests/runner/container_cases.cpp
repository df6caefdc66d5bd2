// The autograder's SandboxContainer: what its users were promised, and none of the defects its clients knew.
#include "runner/autograder/container.hpp"

#include "runner/runner.hpp"

namespace cloche {

namespace {

using runner::Container;
using Body = std::function<Task<>(Container&, LiveSandbox&)>;

const LanguageRegistry& registry() {
  static const auto all = LanguageRegistry::create().value();
  return all;
}

// A lease of `box`, seen as a container of this language.
Task<> with_container(pool::Manager& manager, std::string language, Body body) {
  ClaimOptions options;
  auto lease = co_await manager.acquire("box", std::move(options), Deadline::after(60s));
  EXPECT_TRUE(lease) << lease.error().message;
  if (!lease) co_return;
  const auto sandbox = lease->shared();
  Container container(sandbox, lease->binding(), registry(), registry().find(language).value(), 8000);
  co_await body(container, *sandbox);
}

CommandOptions within(std::chrono::milliseconds timeout) {
  CommandOptions options;
  options.timeout = timeout;
  return options;
}

std::string said(const CommandResponse& response) {
  return std::to_string(response.exit_code) + " " + std::string(to_string(response.category));
}

Task<CommandResponse> command(Container& container, std::string line, std::chrono::milliseconds timeout = 30s) {
  CommandOptions options = within(timeout);
  auto ran = co_await container.run_command(std::move(line), std::move(options));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran.value_or(CommandResponse());
}

// `text` is lines with breaks between them; no program where that is empty.
Task<CommandResponse> with_lines(Container& container, std::string text, std::string program) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::optional<std::string> named;
  if (!program.empty()) named = std::move(program);
  CommandOptions options = within(30s);
  auto ran = co_await container.run_commands(std::move(lines), std::move(named), std::move(options));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran.value_or(CommandResponse());
}

// Answers what it was asked, and some things worse.
const std::string application = R"py(
import http.server, json, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def answer(self):
        size = int(self.headers.get('Content-Length', 0))
        body = self.rfile.read(size).decode()
        path = self.path
        if path == '/slow': time.sleep(30)
        if path == '/raw': self.wfile.write(b'220 not http\r\n'); self.close_connection = True; return
        if path == '/hang-up': self.close_connection = True; return
        if path == '/large':
            self.send_response(200); self.send_header('Content-Length', str(100 << 20)); self.end_headers()
            for _ in range(100): self.wfile.write(b'x' * (1 << 20))
            return
        if path == '/chunked':
            self.send_response(200); self.send_header('Transfer-Encoding', 'chunked'); self.end_headers()
            for part in (b'one,', b'two'): self.wfile.write(b'%x\r\n%s\r\n' % (len(part), part)); self.wfile.flush()
            self.wfile.write(b'0\r\n\r\n'); return
        if path == '/until-close':
            self.send_response(200); self.send_header('Connection', 'close'); self.end_headers()
            self.wfile.write(b'to the end'); self.close_connection = True; return
        if path == '/moved':
            self.send_response(302); self.send_header('Location', '/there?x=1'); self.send_header('Content-Length', '0')
            self.end_headers(); return
        if path == '/missing':
            self.send_response(404); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'no'); return
        if path == '/bytes':
            self.send_response(200); self.send_header('Content-Length', '256'); self.end_headers()
            self.wfile.write(bytes(range(256))); return
        text = json.dumps({'method': self.command, 'path': path, 'body': body, 'type': self.headers.get('Content-Type'),
                           'mine': self.headers.get('X-Mine'), 'host': self.headers.get('Host')}).encode()
        self.send_response(200); self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text))); self.end_headers()
        if self.command != 'HEAD': self.wfile.write(text)
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Handler).serve_forever()
)py";

Task<Result<AppResponse>> ask(Container& container, std::string method, std::string endpoint) {
  AppRequest request;
  request.method = std::move(method);
  request.endpoint = std::move(endpoint);
  auto response = co_await container.make_request(std::move(request));
  co_return response;
}

}  // namespace

RUNNER(Container_RunsCommandsAsArgvWithoutAShell) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox&) -> Task<> {
      FileTree files{{"main.py", "import sys; print(sys.argv[1:])"}, {"services/deep/x.txt", "x"}};
      auto prepared = co_await container.prepare_workdir(std::move(files));
      EXPECT_TRUE(prepared) << prepared.error().message;
      auto ran = co_await command(container, "python3 main.py 'a b' \"c\\\"d\" $HOME *.py && ls | cat; e");
      EXPECT_EQ(ran.out, "['a b', 'c\"d', '$HOME', '*.py', '&&', 'ls', '|', 'cat;', 'e']\n");
      EXPECT_GT(ran.execution_time, 0us);
      ran = co_await command(container, "sh -c 'pwd; id -un; ls services/deep'");
      EXPECT_THAT(ran.out, HasSubstr("/app\n"));
      EXPECT_THAT(ran.out, HasSubstr("x.txt\n"));
      // What cannot be split is a shell's.
      ran = co_await command(container, "echo it's");
      EXPECT_NE(ran.exit_code, 0);
      EXPECT_EQ(ran.category, Category::runtime_error);
      CommandOptions nowhere = within(1s);
      auto empty = co_await container.run_command("   ", nowhere);
      EXPECT_FALSE(empty);
      nowhere.work_dir = "relative";
      empty = co_await container.run_command("ls", nowhere);
      EXPECT_FALSE(empty);
    });
  });
}

RUNNER(Container_CategoriesComeFromWhatHappened) {
  in_manager(options(), [this](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [this](Container& container, LiveSandbox&) -> Task<> {
      auto ran = co_await command(container, "sh -c 'echo error: Traceback SyntaxError timeout >&2'");
      EXPECT_EQ(said(ran), "0 success");
      ran = co_await command(container, "sh -c 'exit 1'");
      EXPECT_EQ(said(ran), "1 runtime_error");
      ran = co_await command(container, "sh -c 'kill -SEGV $$'");
      EXPECT_EQ(said(ran), "139 runtime_error");
      ran = co_await command(container, "no-such-program");
      EXPECT_EQ(said(ran), "127 runtime_error");
      EXPECT_EQ(ran.err, "no-such-program: command not found");
      // The output before a timeout is kept, and the program is gone.
      ran = co_await command(container, "sh -c 'echo before; echo oops >&2; sleep 1000'", 1s);
      EXPECT_EQ(said(ran), "124 timeout");
      EXPECT_EQ(ran.out, "before\n");
      EXPECT_EQ(ran.err, "oops\nExecution timed out after 1 seconds");
      ran = co_await command(container, "sh -c 'grep -l sleep /proc/[0-9]*/comm | wc -l'");
      EXPECT_EQ(ran.out, "0\n");
      ran = co_await command(container, "sh -c 'exit 124'");
      EXPECT_EQ(said(ran), "124 runtime_error");
      if (target().is_fake()) co_return;
      ran = co_await command(container, "python3 -c 'x = b\"x\" * (1 << 30)'");
      EXPECT_EQ(said(ran), "137 runtime_error");
      EXPECT_EQ(ran.cause, Cause::memory);
      EXPECT_THAT(ran.err, HasSubstr("memory limit"));
    });
  });
}

RUNNER(Container_CompilersFailureIsACompilationError) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "c", [](Container& container, LiveSandbox&) -> Task<> {
      FileTree files{{"bad.c", "int main(void) { return x; }\n"}, {"good.c", "int main(void) { return 3; }\n"}};
      auto prepared = co_await container.prepare_workdir(std::move(files));
      EXPECT_TRUE(prepared);
      auto ran = co_await command(container, "gcc bad.c");
      EXPECT_EQ(said(ran), "1 compilation_error");
      ran = co_await command(container, "gcc good.c");
      EXPECT_EQ(said(ran), "0 success");
      ran = co_await command(container, "CMD");
      EXPECT_EQ(said(ran), "3 runtime_error");
    });
  });
}

RUNNER(Container_LinesArriveOnStdinAsTheyAre) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox&) -> Task<> {
      FileTree files{{"calculator.py", "print(int(input()) + int(input()))"}};
      auto prepared = co_await container.prepare_workdir(std::move(files));
      EXPECT_TRUE(prepared);
      auto ran = co_await with_lines(container, "5\n3", "python3 calculator.py");
      EXPECT_EQ(ran.out, "8\n");
      // The language's own command, from the file's name.
      ran = co_await with_lines(container, "5\n4", "CMD");
      EXPECT_EQ(ran.out, "9\n") << ran.err;
      ran = co_await with_lines(container, "-n\na\\tb\\\\\nit's $HOME `id`\n", "cat");
      EXPECT_EQ(ran.out, "-n\na\\tb\\\\\nit's $HOME `id`\n\n");
      ran = co_await with_lines(container, "-e\n\\x41", "");
      EXPECT_EQ(ran.out, "-e\n\\x41\n");
    });
  });
}

RUNNER(Container_LargeFilesGoInAndComeOut) {
  ManagerOptions roomy = options();
  if (!target().is_fake()) {
    roomy.profiles[0].sandbox.limits.memory = mib(512);
    roomy.profiles[0].sandbox.limits.work_dir = mib(128);
  }
  in_manager(roomy, [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox&) -> Task<> {
      std::string large(50u << 20, '\0');
      for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
      FileTree files{{"large.bin", large}, {"small.txt", "na\xc3\xafve"}};
      auto prepared = co_await container.prepare_workdir(std::move(files));
      EXPECT_TRUE(prepared) << prepared.error().message;
      auto back = co_await container.extract_file("large.bin", mib(64));
      EXPECT_TRUE(back) << back.error().message;
      EXPECT_TRUE(back && back->content == large);
      EXPECT_TRUE(back && back->size == large.size());
      auto refused = co_await container.extract_file("large.bin", mib(1));
      EXPECT_FALSE(refused);
      EXPECT_EQ(refused.error().message, "File exceeds maximum size: 52428800 bytes > 1048576 bytes");
      auto text = co_await container.extract_file("/app/small.txt", mib(1));
      EXPECT_TRUE(text && text->text == "na\xc3\xafve" && text->encoding == "utf-8");
    });
  });
}

RUNNER(Container_PathsThatEscape_AreRefusedWithTheirMessages) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox&) -> Task<> {
      for (const std::string path : {"../x", "/etc/passwd", "a/../../x", "/app/../x", "/application/x"}) {
        FileTree files{{path, "x"}};
        auto refused = co_await container.prepare_workdir(std::move(files));
        EXPECT_FALSE(refused);
        EXPECT_EQ(refused.error().message, "Path must stay within working directory: " + path);
        auto file = co_await container.extract_file(path, mib(1));
        EXPECT_FALSE(file);
        EXPECT_EQ(file.error().message, "Path must stay within working directory: " + path);
      }
      auto missing = co_await container.extract_file("none.txt", mib(1));
      EXPECT_FALSE(missing);
      EXPECT_EQ(missing.error().message, "File not found in container: none.txt");
      co_await command(container, "sh -c 'ln -s /etc/hostname out; ln -s /etc far; mkfifo pipe; mkdir dir'");
      for (const char* path : {"out", "far/hostname"}) {
        auto file = co_await container.extract_file(path, mib(1));
        EXPECT_FALSE(file);
        EXPECT_EQ(file.error().message, std::string("Path must stay within working directory: ") + path);
      }
      for (const char* path : {"pipe", "dir"}) {
        auto file = co_await container.extract_file(path, mib(1));
        EXPECT_FALSE(file);
        EXPECT_THAT(file.error().message, HasSubstr("Not a regular file"));
      }
    });
  });
}

RUNNER(Container_AssetsLiveBelowTmp) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox&) -> Task<> {
      std::vector<Asset> assets{{"data/set.csv", "a,b", Access::read_only}, {"/tmp/notes", "n", Access::read_write}};
      auto injected = co_await container.inject_assets(std::move(assets));
      EXPECT_TRUE(injected) << injected.error().message;
      auto ran = co_await command(container, "stat -c '%a %n' /tmp/data/set.csv /tmp/notes");
      EXPECT_EQ(ran.out, "444 /tmp/data/set.csv\n644 /tmp/notes\n");
      for (const char* target : {"../etc/x", "/etc/x", "/tmp/../x", "/tmpx/y", "", "/tmp"}) {
        std::vector<Asset> outside{{"fine", "x", Access::read_only}, {target, "x", Access::read_only}};
        auto refused = co_await container.inject_assets(std::move(outside));
        EXPECT_FALSE(refused) << target;
      }
      ran = co_await command(container, "ls /tmp");
      EXPECT_EQ(ran.out, "data\nnotes\n") << "nothing is written when one is refused";
    });
  });
}

RUNNER(Container_RequestsReachAnApplicationWithoutNetwork) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox& sandbox) -> Task<> {
      auto refused = co_await ask(container, "GET", "/");
      EXPECT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("HTTP GET request to http://localhost:8000/ failed"));
      EXPECT_THAT(refused.error().message, HasSubstr("nothing is listening"));
      FileTree files{{"app.py", application}};
      auto prepared = co_await container.prepare_workdir(std::move(files));
      EXPECT_TRUE(prepared);
      ExecSpec spec;
      spec.argv = {"python3", "/app/app.py"};
      spec.lifetime = Lifetime::background;
      auto started = co_await sandbox.start(std::move(spec), Deadline::after(30s));
      EXPECT_TRUE(started) << started.error().message;
      const Deadline patience = Deadline::after(30s);
      for (bool up = false; !up && !patience.passed(); co_await pause_for(20ms)) {
        auto answer = co_await ask(container, "GET", "/");
        up = answer.has_value();
      }
      for (const char* method : {"GET", "post", "PUT", "DELETE", "PATCH"}) {
        AppRequest request;
        request.method = method;
        request.endpoint = "/api";
        request.params = {{"q", "a b&c"}};
        request.headers = {{"X-Mine", "yes"}};
        if (std::string(method) != "GET") request.json = R"({"n":1})";
        auto answer = co_await container.make_request(std::move(request));
        EXPECT_TRUE(answer) << answer.error().message;
        if (!answer) continue;
        EXPECT_EQ(answer->status_code, 200u);
        EXPECT_THAT(answer->content, HasSubstr("\"/api?q=a+b%26c\""));
        EXPECT_THAT(answer->content, HasSubstr("\"mine\": \"yes\""));
        EXPECT_THAT(answer->content, HasSubstr("\"host\": \"localhost:8000\""));
        const bool has_body = answer->content.find(R"({\"n\":1})") != std::string::npos;
        EXPECT_EQ(has_body, std::string(method) != "GET");
      }
      AppRequest form;
      form.method = "POST";
      form.form = {{"name", "a&b"}};
      auto answer = co_await container.make_request(std::move(form));
      EXPECT_TRUE(answer && answer->content.find("name=a%26b") != std::string::npos);
      EXPECT_TRUE(answer && answer->content.find("x-www-form-urlencoded") != std::string::npos);
      answer = co_await ask(container, "HEAD", "/");
      EXPECT_TRUE(answer && answer->status_code == 200 && answer->content.empty());
      answer = co_await ask(container, "GET", "/chunked");
      EXPECT_TRUE(answer && answer->content == "one,two");
      answer = co_await ask(container, "GET", "/until-close");
      EXPECT_TRUE(answer && answer->content == "to the end");
      answer = co_await ask(container, "POST", "/moved");
      EXPECT_TRUE(answer && answer->content.find("/there?x=1") != std::string::npos);
      answer = co_await ask(container, "GET", "/missing");
      EXPECT_TRUE(answer && answer->status_code == 404 && !answer->ok() && answer->content == "no");
      answer = co_await ask(container, "GET", "/bytes");
      EXPECT_TRUE(answer && answer->content.size() == 256);
      answer = co_await ask(container, "GET", "/raw");
      EXPECT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::protocol);
      answer = co_await ask(container, "GET", "/hang-up");
      EXPECT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::unavailable) << answer.error().message;
      answer = co_await ask(container, "GET", "/large");
      EXPECT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::limit_reached);
      EXPECT_THAT(answer.error().message, HasSubstr("16 MiB"));
      AppRequest slow;
      slow.endpoint = "/slow";
      slow.timeout = 300ms;
      answer = co_await container.make_request(std::move(slow));
      EXPECT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::timeout);
      answer = co_await ask(container, "GET", "http://example.org/");
      EXPECT_FALSE(answer);
      EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
    });
  });
}

RUNNER(Container_SandboxThatIsTakenBack_IsASystemError) {
  in_manager(options(), [](pool::Manager& manager) -> Task<> {
    co_await with_container(manager, "python", [](Container& container, LiveSandbox& sandbox) -> Task<> {
      sandbox.cut_off({ErrorCode::sandbox_lost, "gone"});
      auto ran = co_await command(container, "true");
      EXPECT_EQ(said(ran), "-1 system_error");
      EXPECT_EQ(ran.err, "Command execution failed: gone");
    });
  });
}

}  // namespace cloche
