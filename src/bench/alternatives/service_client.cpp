#include "bench/alternatives/service_client.hpp"

#include "bench/alternatives/python.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 120s;

}  // namespace

Task<Result<std::string>> ServiceCalls::send(http::Request request) {
  const std::string what = request.method + " " + request.target;
  request.body_limit = mib(64);
  auto response = co_await client_.send(std::move(request), Deadline::after(patience));
  if (!response) co_return fail(std::move(response).error());
  if (!response->success()) {
    co_return fail(ErrorCode::internal,
                   what + ": " + std::to_string(response->status) + " " + response->body.substr(0, 300));
  }
  co_return std::move(response->body);
}

Task<Result<std::string>> ServiceCalls::post(std::string target, std::string body) {
  http::Request request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = std::move(body);
  request.fields.emplace_back("Content-Type", "application/json");
  return send(std::move(request));
}

Task<Result<std::string>> ServiceCalls::get(std::string target) {
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  return send(std::move(request));
}

ExecuteClient::ExecuteClient(Surroundings& surroundings, const std::string& socket, std::string session)
    : calls_(surroundings, socket),
      body_(R"({"session_id":")" + std::move(session) + R"(","code":")" + program_text + "\"}") {}

Task<Status> ExecuteClient::run_once() {
  auto answer = co_await calls_.post("/execute", body_);
  if (!answer) co_return fail(std::move(answer).error());
  if (answer->find(R"("stdout":"42\n")") == std::string::npos) {
    co_return fail(ErrorCode::internal, "POST /execute: " + answer->substr(0, 300));
  }
  co_return Status{};
}

}  // namespace cloche::bench
