#include "service/service_test.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdlib>

#include "core/ids.hpp"
#include "core/log.hpp"

namespace cloche {

std::string Answered::text(std::string_view field) const {
  const auto* object = body.if_object();
  const auto* found = object == nullptr ? nullptr : object->if_contains(field);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

std::int64_t Answered::number(std::string_view field) const {
  const auto* object = body.if_object();
  const auto* found = object == nullptr ? nullptr : object->if_contains(field);
  return found != nullptr && found->is_int64() ? found->get_int64() : -1;
}

void ServiceTest::SetUp() {
  log::set_up(spdlog::level::info);
  if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
}

void ServiceTest::serve(std::chrono::milliseconds running_timeout, std::function<Task<>()> body) {
  server::ServiceOptions options;
  ManagerOptions& manager = options.config.manager;
  manager.engine.state_dir = (scratch_.path() / "state").string();
  manager.engine.run_dir = (scratch_.path() / "run").string();
  manager.engine.instance = "test-" + random_hex(6);
  if (target().backend == "docker") {
    manager.engine.backend = BackendKind::docker;
    manager.engine.docker_host = std::getenv("CLOCHE_TEST_DOCKER_HOST");
  }
  if (target().is_modern()) manager.engine.runtimes["runsc"] = std::getenv("CLOCHE_TEST_MODERN_RUNSC");
  for (const char* name : {"python", "cpp"}) {
    Profile profile;
    profile.name = name;
    profile.sandbox = testing_support::spec_for(target());
    profile.sandbox.work_dir = "/app";
    profile.pool.pool_size = 1;
    profile.pool.scale_limit = 2;
    profile.pool.running_timeout = running_timeout;
    manager.profiles.push_back(profile);
  }
  Profile session = manager.profiles.front();
  session.name = "session";
  session.sandbox.work_dir = "/workspace";
  session.sandbox.limits.memory = mib(256);
  session.sandbox.limits.pids = 128;
  session.pool.scale_limit = 6;
  manager.profiles.push_back(session);
  manager.drain_timeout = 5s;
  http::ListenUnix socket;
  socket.path = (scratch_.path() / "socket").string();
  options.listen.emplace_back(socket);

  if (adjust_) adjust_(options);

  std::exception_ptr thrown;
  asio::co_spawn(
      io_,
      [&]() -> Task<> {
        auto service = server::Service::create(io_.get_executor(), options);
        EXPECT_TRUE(service) << service.error().message;
        if (!service) co_return;
        auto started = co_await (*service)->start();
        EXPECT_TRUE(started) << started.error().message;
        if (!started) co_return;
        client_ = std::make_unique<http::Client>(io_.get_executor(), http::UnixEndpoint{socket.path});
        std::exception_ptr failure;
        try {
          co_await body();
        } catch (...) {
          failure = std::current_exception();
        }
        client_.reset();
        auto ended = co_await (*service)->shut_down();
        EXPECT_TRUE(ended) << ended.error().message;
        if (failure) std::rethrow_exception(failure);
      },
      [&](std::exception_ptr error) { thrown = error; });
  io_.run();
  if (thrown) std::rethrow_exception(thrown);
}

Task<Answered> ServiceTest::call(std::string method, std::string path, std::string json) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(path);
  request.body = std::move(json);
  request.body_limit = mib(64);
  if (!request.body.empty()) request.fields.emplace_back("Content-Type", "application/json");
  if (!token_.empty()) request.fields.emplace_back("Authorization", "Bearer " + token_);
  auto response = co_await client_->send(std::move(request), Deadline::after(100s));
  if (!response) throw std::runtime_error(response.error().message);
  Answered answered;
  answered.status = response->status;
  boost::system::error_code not_json;
  answered.body = boost::json::parse(response->body, not_json);
  EXPECT_FALSE(not_json) << response->body;
  co_return answered;
}

Task<Answered> ServiceTest::call(std::string method, std::string path) {
  return call(std::move(method), std::move(path), "");
}

Task<std::string> ServiceTest::lend(std::string language) {
  auto lent = co_await call("POST", "/sandboxes/" + language);
  EXPECT_EQ(lent.status, 200u) << lent.text("detail");
  co_return lent.text("sandbox_id");
}

}  // namespace cloche
