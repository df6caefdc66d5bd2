#include "egress/secrets/secret_store.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "core/async/exceptions.hpp"
#include "core/file_error.hpp"
#include "egress/secrets/secret_encodings.hpp"
#include "egress/secrets/secret_source.hpp"

namespace cloche::egress {

namespace {

// One hanging command must not keep other secrets from being read.
constexpr std::size_t secret_readers = 4;

Result<std::shared_ptr<const Secret>> prepared_secret(const std::string& name, Result<std::string> value) {
  if (!value) return fail(std::move(value).error().at("secret '" + shown(name) + "'"));
  auto encodings = std::make_shared<const PatternFinder>(encodings_of(*value));
  Secret secret{.name = name, .value = std::move(*value), .encodings = std::move(encodings)};
  return std::make_shared<const Secret>(std::move(secret));
}

}  // namespace

struct SecretStore::State {
  State(Executor e, SteadyClock c) : executor(std::move(e)), clock(std::move(c)), changed(executor) {}

  Executor executor;
  SteadyClock clock;
  std::map<std::string, std::shared_ptr<Reading>, std::less<>> latest;
  Event changed;
};

SecretStore::SecretStore(Executor executor, SecretSources sources, SteadyClock clock)
    : sources_(std::move(sources)), state_(std::make_shared<State>(std::move(executor), std::move(clock))) {}

SecretStore::~SecretStore() { token_.cancel(); }

bool SecretStore::is_fresh(const Reading& reading) const {
  if (!reading.value) return true;
  return reading.value->has_value() && state_->clock() - reading.ended < sources_.kept;
}

Task<Result<std::shared_ptr<const Secret>>> SecretStore::get(std::string name) {
  const auto source = sources_.named.find(name);
  if (source == sources_.named.end()) co_return fail(ErrorCode::not_found, "no such secret: " + shown(name));
  std::shared_ptr<Reading> reading;
  if (const auto found = state_->latest.find(name); found != state_->latest.end()) reading = found->second;
  if (!reading || !is_fresh(*reading)) reading = start_reading(name, source->second);
  while (!reading->value) co_await state_->changed.wait();
  co_return *reading->value;
}

// Not a part of the task that asked: that may be cancelled, and a command may take its time.
std::shared_ptr<SecretStore::Reading> SecretStore::start_reading(const std::string& name, const EgressSecret& source) {
  auto reading = std::make_shared<Reading>();
  state_->latest[name] = reading;
  const CancelToken token = token_.until(Deadline::after(sources_.command_timeout));
  auto work = [state = state_, reading, name, source, token, busy = asio::make_work_guard(state_->executor)]() mutable {
    Value value = fail(ErrorCode::internal, "secret '" + shown(name) + "': not read");
    try {
      value = prepared_secret(name, read_secret(source, token));
    } catch (...) {
      value = fail(to_error("read a secret", std::current_exception()));
    }
    auto executor = state->executor;
    asio::post(executor, [state = std::move(state), reading = std::move(reading), value = std::move(value)]() mutable {
      reading->value = std::move(value);
      reading->ended = state->clock();
      state->changed.notify();
    });
  };
  if (!workers_) workers_ = std::make_unique<asio::thread_pool>(secret_readers);
  asio::post(*workers_, std::move(work));
  return reading;
}

}  // namespace cloche::egress
