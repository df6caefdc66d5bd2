// The service, in the test's own process, over a backend of the test's choice; and a client of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>

#include "http/client.hpp"
#include "server/service.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::Target;

struct Answered {
  unsigned status = 0;
  boost::json::value body;
  // A field of the body as text; empty if it is missing or not text.
  std::string text(std::string_view field) const;
  std::int64_t number(std::string_view field) const;
};

class ServiceTest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override;

  const Target& target() const { return GetParam(); }
  // Profiles `python` and `cpp`, of two sandboxes each; leases last for so long.
  void serve(std::chrono::milliseconds running_timeout, std::function<Task<>()> body);
  void serve(std::function<Task<>()> body) { serve(120s, std::move(body)); }

  Task<Answered> call(std::string method, std::string path);
  Task<Answered> call(std::string method, std::string path, std::string json);
  // A lease over HTTP, or a failed test.
  Task<std::string> lend(std::string language);

  // Sent with each call, if there is one.
  std::string token_;
  // What a test wants otherwise, before the service is made.
  std::function<void(server::ServiceOptions&)> adjust_;
  asio::io_context io_{1};
  testing_support::Scratch scratch_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace cloche
