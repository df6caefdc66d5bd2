// HTTP requests to an application in a sandbox without a network, for graders of web exercises.
#include <cloche/manager.hpp>
#include <cloche/process.hpp>
#include <cloche/sandbox_container.hpp>
#include <iostream>
#include <thread>

namespace {

// A pool that keeps one sandbox warm.
cloche::ManagerOptions python_pool() {
  cloche::Profile python;
  python.name = "python";
  python.sandbox.work_dir = "/app";
  python.pool.pool_size = 1;
  cloche::ManagerOptions options;
  options.profiles.push_back(python);
  return options;
}

const char* const application = R"(
import http.server, json
class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/api/health' else 404)
        self.end_headers()
        self.wfile.write(json.dumps({'path': self.path}).encode())
    def log_message(self, *_): pass
http.server.HTTPServer(('127.0.0.1', 8000), App).serve_forever()
)";

// As soon as it listens.
cloche::AppResponse first_answer(cloche::SandboxContainer& container) {
  for (int tries = 0;; ++tries) {
    try {
      return container.make_request({.endpoint = "/api/health"});
    } catch (const cloche::SandboxNotFoundError&) {
      if (tries > 600) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

void example() {
  cloche::Manager manager(python_pool());
  cloche::Lease lease = manager.acquire("python");
  cloche::SandboxContainer container(*lease, {.language = "python", .port = 8000});
  container.prepare_workdir({{"app.py", application}});
  // It runs for as long as the object is there.
  const cloche::Process server(*lease, {.argv = {"python3", "app.py"}});

  const auto health = first_answer(container);
  std::cout << health.status_code << " " << health.content << "\n";
  const auto missing = container.make_request({.endpoint = "/nothing"});
  std::cout << missing.status_code << " " << (missing.ok() ? "ok" : "not ok") << "\n";
}

}  // namespace

int main() {
  try {
    example();
    return 0;
  } catch (const std::exception& error) {
    // Cloche itself failed; the message says why.
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   200 {"path": "/api/health"}
//   404 not ok
