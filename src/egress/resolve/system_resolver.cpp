// The host's resolver on threads of its own. Lookups of the same name are done once.
#include <netdb.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "core/async/event.hpp"
#include "egress/resolve/resolver.hpp"

namespace cloche::egress {

namespace {

using Addresses = Result<std::vector<Address>>;
constexpr std::size_t most_kept_names = 1024;

std::optional<Address> address_of(const sockaddr* socket_address) {
  if (socket_address->sa_family == AF_INET) {
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(socket_address)->sin_addr, bytes.size());
    return Address::v4(bytes);
  }
  if (socket_address->sa_family == AF_INET6) {
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(socket_address)->sin6_addr, bytes.size());
    return Address::v6(bytes);
  }
  return std::nullopt;
}

Error lookup_error(const std::string& name, int code) {
  const bool has_none = code == EAI_NONAME || code == EAI_NODATA;
  return Error{has_none ? ErrorCode::not_found : ErrorCode::unavailable,
               has_none ? "the name " + name + " has no address" : "resolve " + name + ": " + ::gai_strerror(code)};
}

Addresses look_up(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (code != 0) return fail(lookup_error(name, code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const auto address = address_of(each->ai_addr);
    if (address && std::ranges::find(addresses, *address) == addresses.end()) addresses.push_back(*address);
  }
  if (addresses.empty()) return fail(lookup_error(name, EAI_NONAME));
  return addresses;
}

struct Lookup {
  explicit Lookup(const Executor& executor) : done(executor) {}
  bool is_old() const { return result && Deadline::Clock::now() >= kept_until; }

  std::optional<Addresses> result;
  Deadline::Clock::time_point kept_until;
  Event done;
};

// Threads post their results here, as long as the resolver lives.
struct Home {
  explicit Home(Executor e) : executor(std::move(e)) {}
  std::mutex mutex;
  Executor executor;
  bool closed = false;  // with the mutex
};

class SystemResolver final : public Resolver {
 public:
  SystemResolver(Executor executor, SystemResolverOptions options)
      : options_(options),
        home_(std::make_shared<Home>(std::move(executor))),
        threads_(std::make_shared<asio::thread_pool>(std::max<std::size_t>(options.threads, 1))) {}
  SystemResolver(const SystemResolver&) = delete;
  SystemResolver& operator=(const SystemResolver&) = delete;
  ~SystemResolver() override {
    {
      const std::lock_guard lock(home_->mutex);
      home_->closed = true;
      home_->executor = Executor();
    }
    threads_->stop();
    // A lookup cannot be cancelled and may last long; it uses nothing of this object any more.
    std::thread([threads = threads_] { threads->join(); }).detach();
  }

  Task<Addresses> resolve(std::string name, Deadline deadline) override {
    auto found = lookups_.find(name);
    if (found != lookups_.end() && found->second->is_old()) {
      lookups_.erase(found);
      found = lookups_.end();
    }
    if (found == lookups_.end()) {
      if (running_ >= options_.threads + options_.waiting) {
        co_return fail(ErrorCode::unavailable, "too many names are being resolved; try again");
      }
      found = start(name);
    }
    const auto lookup = found->second;
    while (!lookup->result) {
      if (deadline.passed()) co_return fail(ErrorCode::timeout, "resolve " + name + ": no response in time");
      co_await lookup->done.wait(deadline);
    }
    co_return *lookup->result;
  }

 private:
  using Lookups = std::map<std::string, std::shared_ptr<Lookup>>;

  Lookups::iterator start(const std::string& name) {
    if (lookups_.size() >= most_kept_names) forget_some();
    ++running_;
    // `this` is used by the home's thread alone, and only while it is not closed.
    asio::post(*threads_, [this, home = home_, name] {
      auto result = look_up(name);
      const std::lock_guard lock(home->mutex);
      if (home->closed) return;
      asio::post(home->executor, [this, home, name, result = std::move(result)]() mutable {
        const std::lock_guard still_open(home->mutex);
        if (!home->closed) finish(name, std::move(result));
      });
    });
    return lookups_.emplace(name, std::make_shared<Lookup>(home_->executor)).first;
  }

  void finish(const std::string& name, Addresses result) {
    --running_;
    Lookup& lookup = *lookups_.at(name);
    lookup.result = std::move(result);
    lookup.kept_until = Deadline::Clock::now() + options_.kept;
    lookup.done.notify();
  }

  // Those that are old, or all if that is not enough: the memory is no use to a program that asks for many names.
  void forget_some() {
    std::erase_if(lookups_, [](const auto& each) { return each.second->is_old(); });
    if (lookups_.size() < most_kept_names) return;
    std::erase_if(lookups_, [](const auto& each) { return each.second->result.has_value(); });
  }

  SystemResolverOptions options_;
  std::shared_ptr<Home> home_;
  std::shared_ptr<asio::thread_pool> threads_;
  std::size_t running_ = 0;
  Lookups lookups_;
};

}  // namespace

std::shared_ptr<Resolver> make_system_resolver(Executor executor, SystemResolverOptions options) {
  return std::make_shared<SystemResolver>(std::move(executor), options);
}

}  // namespace cloche::egress
