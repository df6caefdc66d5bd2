#include "egress/tls/certificate_authority.hpp"

#include <gtest/gtest.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "auth/testing/scratch.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;

class Authority : public ::testing::Test {
 protected:
  Authority() {
    clocks_.wall = [this] { return now_; };
  }
  Result<std::shared_ptr<CertificateAuthority>> open() {
    return CertificateAuthority::open(scratch_ / ".", "0123456789abcdef0123", clocks_);
  }
  std::string file() const { return scratch_ / "egress-authority.pem"; }
  std::string content() const { return auth::testing::file_text(file()); }
  void write(const std::string& text) const { auth::testing::put_file(file(), text); }

  auth::testing::ScratchDir scratch_;
  WallTime now_ = Clocks().wall();
  Clocks clocks_;
};

// What a client that trusts the authority says about the certificate of a context, at a time.
int verdict(const CertificateAuthority& authority, const SslContext& context, const std::string& host, WallTime at) {
  const Certificate root = std::move(*certificate_from_pem(authority.certificate_pem()));
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root.get());
  X509_STORE_CTX* check = X509_STORE_CTX_new();
  X509_STORE_CTX_init(check, store, SSL_CTX_get0_certificate(context.get()), nullptr);
  X509_STORE_CTX_set_default(check, "ssl_server");
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(check);
  X509_VERIFY_PARAM_set_time(param, static_cast<std::time_t>(at.time_since_epoch().count()));
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) != 1) X509_VERIFY_PARAM_set1_host(param, host.c_str(), 0);
  X509_verify_cert(check);
  const int result = X509_STORE_CTX_get_error(check);
  X509_STORE_CTX_free(check);
  X509_STORE_free(store);
  return result;
}

TEST_F(Authority, FirstOpen_MakesAFileThatOnlyItsOwnerReads) {
  const auto authority = open();
  ASSERT_THAT(authority, Succeeds());
  struct stat about;
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  EXPECT_EQ((*authority)->certificate_pem().find("PRIVATE"), std::string::npos);
  EXPECT_NE(content().find("PRIVATE KEY"), std::string::npos);
}

TEST_F(Authority, SecondOpen_IsTheSameAuthority) {
  const auto first = open();
  const std::string before = content();
  const auto second = open();
  ASSERT_THAT(first, Succeeds());
  ASSERT_THAT(second, Succeeds());
  EXPECT_EQ((*first)->certificate_pem(), (*second)->certificate_pem());
  EXPECT_EQ(content(), before);
  const auto context = (*second)->context_for("a.example.org");
  ASSERT_THAT(context, Succeeds());
  EXPECT_EQ(verdict(**first, *context, "a.example.org", now_), X509_V_OK);
}

TEST_F(Authority, DamagedFile_IsAnErrorAndStaysAsItIs) {
  ASSERT_THAT(open(), Succeeds());
  const std::string good = content();
  const std::string certificate = good.substr(good.find("-----BEGIN CERTIFICATE"));
  const std::string key = good.substr(0, good.find("-----BEGIN CERTIFICATE"));
  std::string flipped = good;
  flipped[flipped.find("CERTIFICATE-----\n") + 60] ^= 1;
  const Key other = std::move(*make_key());
  const std::string other_key = *to_pem(*other);
  const std::string host_certificate =
      *to_pem(**make_host_certificate({**certificate_from_pem(good), **key_from_pem(good)}, **key_from_pem(good), "a.b",
                                      {now_, now_ + std::chrono::days(1)}));
  for (const std::string& damaged :
       {std::string(), std::string("nonsense"), certificate, key, good.substr(0, good.size() / 2), flipped,
        other_key + certificate, key + host_certificate, std::string(good).replace(0, 10, "xxxxxxxxxx")}) {
    write(damaged);
    EXPECT_THAT(open(), FailsSaying(ErrorCode::protocol, "restore it, or remove it")) << damaged.size();
    EXPECT_EQ(content(), damaged);
  }
  write(good);
  EXPECT_THAT(open(), Succeeds());
}

TEST_F(Authority, FileThatOthersCanRead_IsRefused) {
  ASSERT_THAT(open(), Succeeds());
  ::chmod(file().c_str(), 0640);
  EXPECT_THAT(open(), FailsWith(ErrorCode::permission_denied));
}

TEST_F(Authority, LinkInPlaceOfTheFile_IsRefused) {
  ASSERT_THAT(open(), Succeeds());
  ASSERT_EQ(::rename(file().c_str(), (scratch_ / "elsewhere").c_str()), 0);
  ASSERT_EQ(::symlink((scratch_ / "elsewhere").c_str(), file().c_str()), 0);
  EXPECT_THAT(open(), FailsWith(ErrorCode::invalid_argument));
}

TEST_F(Authority, ExpiredAuthority_IsAnError) {
  ASSERT_THAT(open(), Succeeds());
  now_ += CertificateAuthority::lifetime - std::chrono::days(1);
  EXPECT_THAT(open(), Succeeds());
  now_ += std::chrono::days(2);
  EXPECT_THAT(open(), FailsSaying(ErrorCode::protocol, "expired"));
}

TEST_F(Authority, MissingDirectory_IsAnError) {
  EXPECT_FALSE(CertificateAuthority::open(scratch_ / "missing", "x", clocks_));
}

TEST_F(Authority, SeveralProcessesAtOnce_MakeOneAuthority) {
  int start[2];
  int results[2];
  ASSERT_EQ(::pipe(start), 0);
  ASSERT_EQ(::pipe(results), 0);
  constexpr int processes = 4;
  std::set<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(start[1]);
      char byte;
      (void)!::read(start[0], &byte, 1);  // until the parent closes it
      const auto authority = open();
      const std::string text = authority ? (*authority)->certificate_pem() : authority.error().message;
      const std::size_t hash = std::hash<std::string>()(text);
      (void)!::write(results[1], &hash, sizeof hash);
      ::_exit(authority ? 0 : 1);
    }
    children.insert(child);
  }
  ::close(start[0]);
  ::close(start[1]);
  std::set<std::size_t> seen;
  for (int i = 0; i < processes; ++i) {
    std::size_t hash = 0;
    ASSERT_EQ(::read(results[0], &hash, sizeof hash), static_cast<ssize_t>(sizeof hash));
    seen.insert(hash);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::close(results[0]);
  ::close(results[1]);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(Authority, CertificateOfAHost_IsForThatHostAlone) {
  const auto authority = open();
  ASSERT_THAT(authority, Succeeds());
  const std::string long_name = std::string(60, 'a') + "." + std::string(60, 'b') + ".example.org";
  for (const std::string& host : {std::string("api.example.org"), std::string("192.0.2.1"), std::string("2001:db8::1"),
                                  std::string("xn--bcher-kva.example"), long_name}) {
    const auto context = (*authority)->context_for(host);
    ASSERT_THAT(context, Succeeds()) << host;
    EXPECT_EQ(verdict(**authority, *context, host, now_), X509_V_OK) << host;
    EXPECT_EQ(verdict(**authority, *context, "other.example.org", now_), X509_V_ERR_HOSTNAME_MISMATCH) << host;
    EXPECT_EQ(verdict(**authority, *context, "x." + host, now_), X509_V_ERR_HOSTNAME_MISMATCH) << host;
  }
}

TEST_F(Authority, NameThatIsMoreThanAName_CannotAddNames) {
  const auto authority = open();
  ASSERT_THAT(authority, Succeeds());
  EXPECT_FALSE((*authority)->context_for("a.example.org,DNS:b.example.org"));
}

TEST_F(Authority, Contexts_AreKeptAndMadeAgainBeforeTheyExpire) {
  const auto authority = open();
  ASSERT_THAT(authority, Succeeds());
  const SslContext first = (*authority)->context_for("a.example.org").value();
  EXPECT_EQ((*authority)->context_for("a.example.org").value(), first);
  EXPECT_NE((*authority)->context_for("b.example.org").value(), first);
  now_ += CertificateAuthority::host_lifetime - CertificateAuthority::renewed_before - std::chrono::seconds(1);
  EXPECT_EQ((*authority)->context_for("a.example.org").value(), first);
  now_ += std::chrono::seconds(1);
  const SslContext renewed = (*authority)->context_for("a.example.org").value();
  EXPECT_NE(renewed, first);
  EXPECT_EQ(verdict(**authority, renewed, "a.example.org", now_ + std::chrono::days(6)), X509_V_OK);
  EXPECT_EQ(verdict(**authority, first, "a.example.org", now_ + std::chrono::days(6)), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(Authority, ManyHosts_OnlyTheLatestAreKept) {
  const auto authority = open();
  ASSERT_THAT(authority, Succeeds());
  const SslContext used = (*authority)->context_for("used.example.org").value();
  const std::weak_ptr<SSL_CTX> unused = (*authority)->context_for("unused.example.org").value();
  for (std::size_t i = 0; i < CertificateAuthority::most_contexts - 1; ++i) {
    ASSERT_THAT((*authority)->context_for("h" + std::to_string(i) + ".example.org"), Succeeds());
    ASSERT_EQ((*authority)->context_for("used.example.org").value(), used);
  }
  EXPECT_TRUE(unused.expired());
}

}  // namespace
}  // namespace cloche::egress
