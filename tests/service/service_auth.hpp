// A service that requires tokens, and its callers.
#pragma once

#include "auth/tokens/token_file.hpp"
#include "service/service_test.hpp"

namespace cloche {

// With tokens of two tenants and of an admin.
class ServiceAuth : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    if (IsSkipped()) return;
    acme_ = make_token("acme", auth::Role::user);
    other_ = make_token("other", auth::Role::user);
    admin_ = make_token("default", auth::Role::admin);
    adjust_ = [this](server::ServiceOptions& options) {
      options.auth.token_file = file_.path();
      options.config.server.quotas = quotas_;
    };
  }

  std::string make_token(const std::string& tenant, auth::Role role) {
    auth::TokenRequest request;
    request.tenant = tenant;
    request.role = role;
    auto made = file_.create(request);
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->text : "";
  }

  Task<Answered> call_as(std::string token, std::string method, std::string path, std::string json) {
    token_ = std::move(token);
    return call(std::move(method), std::move(path), std::move(json));
  }
  Task<Answered> call_as(std::string token, std::string method, std::string path) {
    return call_as(std::move(token), std::move(method), std::move(path), "");
  }

  auth::TokenFile file_{(scratch_.path() / "tokens.json").string()};
  std::string acme_, other_, admin_;
  auth::QuotaOptions quotas_;
};

}  // namespace cloche
