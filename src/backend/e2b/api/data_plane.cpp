#include "backend/e2b/api/data_plane.hpp"

#include "core/base64.hpp"
#include "core/ids.hpp"
#include "core/percent_encoding.hpp"

namespace cloche::e2b {

namespace {

using namespace std::chrono_literals;

// Of a call that does one thing.
constexpr auto silence_of_call = 60s;
// A stream without output: the service sends a keep-alive in this interval. Two of them missing mean a dead connection.
constexpr auto keep_alive_interval = 30s;
constexpr auto longest_silence_of_stream = 70s;
constexpr std::size_t longest_report = 2048;
constexpr std::string_view stream_type = "application/connect+json";

}  // namespace

DataPlane::DataPlane(Executor executor, Address address, const RemoteSandbox& sandbox)
    : address_(std::move(address)), client_(std::move(executor), address_.endpoint) {
  fields_.emplace_back("E2b-Sandbox-Id", sandbox.id);
  fields_.emplace_back("E2b-Sandbox-Port", std::to_string(envd_port));
  fields_.emplace_back("Authorization", "Basic " + encode_base64("root:"));
  fields_.emplace_back("User-Agent", "cloche");
  if (!sandbox.access_token.empty()) fields_.emplace_back("X-Access-Token", sandbox.access_token);
}

http::Request DataPlane::request_for(std::string method, std::string target) const {
  http::Request request;
  request.method = std::move(method);
  request.target = address_.prefix + target;
  request.fields = fields_;
  request.patience = silence_of_call;
  return request;
}

Task<Status> DataPlane::check_health(Deadline deadline) {
  http::Request request = request_for("GET", "/health");
  CLOCHE_CO_TRY(const http::Response response, co_await client_.send(std::move(request), deadline));
  if (response.success()) co_return Status{};
  co_return fail(ErrorCode::unavailable, "GET /health: " + std::to_string(response.status));
}

Task<Status> DataPlane::upload(std::string path, std::string content, Deadline deadline) {
  http::Request request = request_for("POST", "/files?username=root&path=" + percent_encoded(path));
  // The form that services of every version know.
  const std::string boundary = "cloche-" + random_hex(16);
  request.fields.emplace_back("Content-Type", "multipart/form-data; boundary=" + boundary);
  request.body = "--" + boundary +
                 "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n"
                 "Content-Type: application/octet-stream\r\n\r\n" +
                 content + "\r\n--" + boundary + "--\r\n";
  CLOCHE_CO_TRY(const http::Response response, co_await client_.send(std::move(request), deadline));
  if (response.success()) co_return Status{};
  co_return fail(read_call_error(response.status, response.body).at("upload " + path));
}

Task<Result<DataPlane::Started>> DataPlane::start(Command command, Deadline deadline) {
  const std::string step = "start " + command.argv.front();
  http::Request request = request_for("POST", "/process.Process/Start");
  request.fields.emplace_back("Content-Type", std::string(stream_type));
  request.fields.emplace_back("Connect-Protocol-Version", "1");
  request.fields.emplace_back("Keepalive-Ping-Interval",
                              std::to_string(std::chrono::seconds(keep_alive_interval).count()));
  request.body = connect::in_envelope(0, write_start(command));
  request.body_limit = Bytes{UINT64_MAX};
  request.patience = longest_silence_of_stream;
  auto opened = co_await client_.open(std::move(request), deadline);
  if (!opened) co_return fail(std::move(opened).error().at(step));
  const http::Response& head = (*opened)->head();
  if (head.status != 200) {
    constexpr std::size_t most_of_error = 4096;
    std::string body;
    while (body.size() < most_of_error) {
      auto piece = co_await (*opened)->next(deadline);
      if (!piece || piece->empty()) break;
      body += *piece;
    }
    co_return fail(read_call_error(head.status, body).at(step));
  }
  if (!head.field("Content-Type").starts_with(stream_type))
    co_return fail(ErrorCode::protocol, step + ": the response is not a stream of the Connect protocol");
  Started started;
  started.events = std::make_unique<ProgramStream>(std::move(*opened));
  auto first = co_await started.events->next(deadline);
  if (!first) co_return fail(std::move(first).error().at(step));
  const auto* event = std::get_if<ProgramStarted>(&*first);
  if (event == nullptr) co_return fail(ErrorCode::protocol, step + ": the stream does not begin with a start");
  started.pid = event->pid;
  co_return started;
}

Task<Status> DataPlane::run(Command command, Deadline deadline) {
  const std::string step = "run " + command.argv.front();
  CLOCHE_CO_TRY(const Started started, co_await start(std::move(command), deadline));
  std::string printed;
  for (;;) {
    auto event = co_await started.events->next(deadline);
    if (!event) co_return fail(std::move(event).error().at(step));
    if (const auto* output = std::get_if<ProgramOutput>(&*event)) {
      printed += output->bytes.substr(0, longest_report - std::min(longest_report, printed.size()));
    } else if (const auto* ended = std::get_if<ProgramEnded>(&*event)) {
      if (ended->exit_code == 0) co_return Status{};
      co_return fail(ErrorCode::unsupported,
                     step + ": " + ended->status + (printed.empty() ? "" : ": ") + read_message(printed));
    }
  }
}

Task<Status> DataPlane::send_input(std::uint32_t pid, std::string_view bytes, Deadline deadline) {
  http::Request request = request_for("POST", "/process.Process/SendInput");
  request.fields.emplace_back("Content-Type", "application/json");
  request.fields.emplace_back("Connect-Protocol-Version", "1");
  request.body = write_input(pid, bytes);
  CLOCHE_CO_TRY(const http::Response response, co_await client_.send(std::move(request), deadline));
  if (response.success()) co_return Status{};
  co_return fail(read_call_error(response.status, response.body).at("send input"));
}

}  // namespace cloche::e2b
