#include "egress/tls/trust.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "auth/testing/scratch.hpp"
#include "egress/testing/identities.hpp"
#include "support/missing.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;

class Trust : public ::testing::Test {
 protected:
  Trust() {
    if (const char* was = std::getenv("SSL_CERT_FILE")) was_ = was;
    system_ = write("system.pem", system_authority_.pem());
    ::setenv("SSL_CERT_FILE", system_.c_str(), 1);
  }
  ~Trust() override {
    if (was_) {
      ::setenv("SSL_CERT_FILE", was_->c_str(), 1);
    } else {
      ::unsetenv("SSL_CERT_FILE");
    }
  }
  std::string write(const std::string& name, const std::string& text) {
    std::string path = scratch_ / name;
    auth::testing::put_file(path, text, 0644);
    return path;
  }

  auth::testing::ScratchDir scratch_;
  std::optional<std::string> was_;
  testing::TestAuthority system_authority_;
  std::string system_;
};

TEST_F(Trust, Bundle_HasTheHostsAuthoritiesAndOurs) {
  const testing::TestAuthority company;
  const auto bundle = make_trust_bundle(write("extra.pem", company.pem()), "OURS\n");
  ASSERT_THAT(bundle, Succeeds());
  EXPECT_EQ(*bundle, system_authority_.pem() + company.pem() + "OURS\n");
}

TEST_F(Trust, BundleWithoutALineBreakAtItsEnd_DoesNotSpoilTheNext) {
  std::string text = system_authority_.pem();
  text.pop_back();
  write("system.pem", text);
  EXPECT_EQ(make_trust_bundle("", "OURS\n").value_or(""), system_authority_.pem() + "OURS\n");
}

TEST_F(Trust, FileWithoutCertificates_IsAnError) {
  const std::string empty = write("empty.pem", "nothing");
  EXPECT_THAT(make_trust_bundle(empty, "OURS\n"), FailsSaying(ErrorCode::invalid_argument, "empty.pem"));
  EXPECT_THAT(make_client_context(empty), FailsSaying(ErrorCode::invalid_argument, "empty.pem"));
  EXPECT_THAT(make_client_context(scratch_ / "missing.pem"), FailsWith(ErrorCode::invalid_argument));
}

TEST_F(Trust, ClientContext_HasAllAuthorities) {
  const testing::TestAuthority company;
  const auto context = make_client_context(write("extra.pem", company.pem()));
  ASSERT_THAT(context, Succeeds());
  EXPECT_EQ(sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context->get()))), 2);
}

TEST_F(Trust, Variables_AllNameTheFile) {
  const auto variables = trust_variables("/run/cloche/trust.pem");
  EXPECT_EQ(variables.size(), 9U);
  EXPECT_EQ(variables.at("SSL_CERT_FILE"), "/run/cloche/trust.pem");
  EXPECT_EQ(variables.at("NODE_EXTRA_CA_CERTS"), "/run/cloche/trust.pem");
  EXPECT_FALSE(variables.contains("SSL_CERT_DIR"));
}

TEST_F(Trust, WithoutTheVariable_AUsualPlaceIsTaken) {
  ::unsetenv("SSL_CERT_FILE");
  const auto found = find_system_bundle();
  if (!found) CLOCHE_CANNOT_TEST("ca-certificates", "this host has no bundle of certificates");
  EXPECT_NE(std::ranges::find(usual_bundles(), *found), usual_bundles().end());
}

}  // namespace
}  // namespace cloche::egress
