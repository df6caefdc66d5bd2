// SecretStore: values of secrets by name, as requests need them.
//
// A value is read when it is used and kept for a short time, so that a secret that changes is noticed without a
// restart. An error is not kept. Values are never logged, and no error contains one. Which hosts a secret may go to is
// said by the rules that name it.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/egress.hpp"
#include "core/async/event.hpp"
#include "core/cancel_token.hpp"
#include "core/clock.hpp"
#include "egress/secrets/pattern_finder.hpp"

namespace cloche::egress {

struct SecretSources {
  std::map<std::string, EgressSecret, std::less<>> named;
  std::chrono::steady_clock::duration kept = std::chrono::seconds(30);
  std::chrono::steady_clock::duration command_timeout = std::chrono::seconds(10);
};

// A value, and what finds it in responses.
struct Secret {
  std::string name;
  std::string value;
  std::shared_ptr<const PatternFinder> encodings;
};

class SecretStore {
 public:
  SecretStore(Executor executor, SecretSources sources, SteadyClock clock = Clocks().steady);
  SecretStore(const SecretStore&) = delete;
  SecretStore& operator=(const SecretStore&) = delete;
  // Not while a task waits for a value. A command that still runs, because those who waited for it were cancelled, is
  // killed.
  ~SecretStore();

  // The errors of read_secret, with the secret's name in front; not_found if there is no such secret. Of several that
  // ask at once, one reads for all.
  Task<Result<std::shared_ptr<const Secret>>> get(std::string name);

 private:
  using Value = Result<std::shared_ptr<const Secret>>;
  // One attempt to read a value.
  struct Reading {
    std::optional<Value> value;
    SteadyTime ended;
  };
  struct State;

  std::shared_ptr<Reading> start_reading(const std::string& name, const EgressSecret& source);
  bool is_fresh(const Reading& reading) const;

  SecretSources sources_;
  std::shared_ptr<State> state_;  // shared with what is being read
  CancelToken token_{Deadline::never()};
  std::unique_ptr<asio::thread_pool> workers_;  // made when something is first read
};

}  // namespace cloche::egress
