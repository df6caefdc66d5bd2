// Secrets, profiles and languages that have owners, over HTTP: what is not a tenant's own looks as if it was not there.
#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>

#include "service/service_auth.hpp"

namespace cloche {

namespace {

namespace json = boost::json;

// The answer without what differs from call to call: its id, and the name that was asked for.
std::string form_of(const Answered& answered, const std::string& name) {
  json::value body = answered.body;
  if (auto* error = body.as_object().if_contains("error")) error->as_object().erase("request_id");
  std::string text = std::to_string(answered.status) + " " + json::serialize(body);
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at)) text.replace(at, name.size(), "*");
  return text;
}

std::string with_secrets(const std::vector<std::string>& names) {
  return json::serialize(json::object{{"session_id", "s"}, {"secrets", json::value_from(names)}});
}

std::string with_secret(const std::string& name) { return with_secrets({name}); }

std::string with_open_and(const std::string& name) { return with_secrets({"OPEN_KEY", name}); }

std::string with_profile(const std::string& name) {
  return json::serialize(json::object{{"session_id", "s"}, {"profile", name}});
}

std::string submission_in(const std::string& language) {
  const json::object file{{"filename", "main.txt"}, {"content", "x"}};
  return json::serialize(json::object{{"language", language}, {"submission_files", json::array{file}}});
}

std::string code_in(const std::string& language) {
  return json::serialize(json::object{{"session_id", "s"}, {"language", language}, {"code", "x"}});
}

}  // namespace

// `vault` is acme's: it has a secret and a mount. ACME_KEY may be named by acme, INNER by no one.
class ServiceOwners : public ServiceAuth {
 protected:
  void SetUp() override {
    ServiceAuth::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(::setenv("CLOCHE_TEST_CANARY", "canary-of-the-server", 1), 0);
    adjust_ = [this, before = adjust_](server::ServiceOptions& options) {
      before(options);
      config::Config& config = options.config;
      config.manager.secrets = {{"ACME_KEY", "value-of-acme"}, {"INNER", "value-of-vault"}, {"OPEN_KEY", "open"}};
      config.access.secrets.emplace("ACME_KEY", auth::AccessList({"acme"}));
      config.access.secrets.emplace("OPEN_KEY", auth::AccessList::all());
      std::filesystem::create_directories(scratch_.path() / "data");
      std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0755));
      std::ofstream(scratch_.path() / "data" / "treasure") << "gold";
      Profile vault = config.manager.profiles.back();
      vault.name = "vault";
      vault.secrets = {"INNER"};
      vault.sandbox.mounts.push_back({(scratch_.path() / "data").string(), "/data", Access::read_only});
      config.manager.profiles.push_back(std::move(vault));
      config.access.profiles.emplace("vault", auth::AccessList({"acme"}));
      if (more_) more_(config);
    };
  }
  void TearDown() override { ::unsetenv("CLOCHE_TEST_CANARY"); }

  Task<Answered> create(std::string token, std::string body) {
    return call_as(std::move(token), "POST", "/sessions", std::move(body));
  }
  // In session `s`.
  Task<Answered> bash(std::string token, std::string command) {
    const json::object body{{"session_id", "s"}, {"command", command}};
    return call_as(std::move(token), "POST", "/bash", json::serialize(body));
  }

  std::function<void(config::Config&)> more_;
};

TEST_P(ServiceOwners, OwnSecretAndProfile_ReachTheProgram) {
  serve([this]() -> Task<> {
    auto made = co_await create(acme_, R"({"session_id": "s", "profile": "vault", "secrets": ["ACME_KEY"]})");
    EXPECT_EQ(made.status, 201u) << json::serialize(made.body);
    auto ran = co_await bash(acme_, "echo $ACME_KEY $INNER; cat /data/treasure");
    EXPECT_EQ(ran.text("stdout"), "value-of-acme value-of-vault\ngold");
  });
}

TEST_P(ServiceOwners, SecretOfAnother_LooksAsIfItWasNotThere) {
  serve([this]() -> Task<> {
    auto unknown = co_await create(other_, with_secret("NO_SUCH"));
    EXPECT_EQ(unknown.status, 404u);
    static const std::vector<std::string> foreign{"ACME_KEY",           "INNER",   "PATH", "HOME",
                                                  "CLOCHE_TEST_CANARY", "acme_key"};
    for (const std::string& name : foreign) {
      auto refused = co_await create(other_, with_secret(name));
      EXPECT_EQ(form_of(refused, name), form_of(unknown, "NO_SUCH"));
      auto beside = co_await create(other_, with_open_and(name));
      EXPECT_EQ(beside.status, 404u) << name;
    }
    // The owner has no way to what is the profile's alone, nor to the environment of the server.
    static const std::vector<std::string> unlisted{"INNER", "PATH", "CLOCHE_TEST_CANARY"};
    for (const std::string& name : unlisted) {
      auto refused = co_await create(acme_, with_secret(name));
      EXPECT_EQ(refused.status, 404u) << name;
    }
    auto all = co_await call_as(admin_, "GET", "/sessions");
    EXPECT_TRUE(all.body.at("sessions").as_array().empty());
    auto open = co_await create(other_, with_secret("OPEN_KEY"));
    EXPECT_EQ(open.status, 201u);
    auto ran = co_await bash(other_, "env");
    EXPECT_THAT(ran.text("stdout"), HasSubstr("OPEN_KEY=open"));
    EXPECT_THAT(ran.text("stdout"), testing::Not(HasSubstr("canary")));
  });
}

TEST_P(ServiceOwners, OddNamesOfSecrets_AreInvalid) {
  serve([this]() -> Task<> {
    static const std::vector<std::string> odd{std::string(), std::string("ACME_KEY="), std::string("ACME_KEY\0", 9),
                                              std::string("A\nB"), std::string(200'000, 'A')};
    for (const std::string& name : odd) {
      auto refused = co_await create(other_, with_secret(name));
      EXPECT_EQ(refused.status, 400u) << name.substr(0, 20);
      EXPECT_LT(json::serialize(refused.body).size(), 1000u);
    }
  });
}

TEST_P(ServiceOwners, ProfileOfAnother_LooksAsIfItWasNotThere) {
  serve([this]() -> Task<> {
    auto unknown = co_await create(other_, with_profile("nosuch"));
    auto refused = co_await create(other_, with_profile("vault"));
    EXPECT_EQ(unknown.status, 404u);
    EXPECT_EQ(form_of(refused, "vault"), form_of(unknown, "nosuch"));
    EXPECT_THAT(json::serialize(unknown.body), testing::Not(HasSubstr("vault")));
    EXPECT_THAT(json::serialize(unknown.body), HasSubstr("session"));
    auto stats = co_await call_as(other_, "GET", "/stats");
    EXPECT_FALSE(stats.body.as_object().contains("vault"));
    EXPECT_TRUE(stats.body.as_object().contains("python"));
    auto own = co_await call_as(acme_, "GET", "/stats");
    EXPECT_TRUE(own.body.as_object().contains("vault"));
    auto all = co_await call_as(admin_, "GET", "/stats");
    EXPECT_TRUE(all.body.as_object().contains("vault"));
  });
}

TEST_P(ServiceOwners, Admin_HasWhatTheTenantHasThatItActsFor) {
  serve([this]() -> Task<> {
    auto own = co_await create(admin_, with_profile("vault"));
    EXPECT_EQ(own.status, 404u);
    auto named = co_await create(admin_, with_secret("ACME_KEY"));
    EXPECT_EQ(named.status, 404u);
    auto theirs = co_await create(admin_, R"({"tenant_id": "acme", "session_id": "s", "profile": "vault"})");
    EXPECT_EQ(theirs.status, 201u) << json::serialize(theirs.body);
  });
}

TEST_P(ServiceOwners, LanguageWithAClosedPool_IsForItsOwnersAlone) {
  // `zig` is the operator's own language, in acme's profile; the pool of `cpp` is acme's too, and so is `c`.
  more_ = [](config::Config& config) {
    const auto part = config::parse_config(
        "languages: {zig: {profile: vault, aliases: [zz], extensions: [.zig], run: [cat, '{filename}']}}", "cloche.yml",
        {});
    config.languages = part->languages;
    config.access.profiles.emplace("cpp", auth::AccessList({"acme"}));
  };
  serve([this]() -> Task<> {
    auto unknown_lease = co_await call_as(other_, "POST", "/sandboxes/nosuch");
    auto unknown_run = co_await call_as(other_, "POST", "/api/v1/execute", submission_in("nosuch"));
    auto unknown_code = co_await call_as(other_, "POST", "/execute", code_in("nosuch"));
    EXPECT_EQ(unknown_lease.status, 422u);
    EXPECT_EQ(unknown_code.status, 400u);
    static const std::vector<std::string> of_zig{"zig", "zz", "ZIG"};
    for (const std::string& name : of_zig) {
      auto lease = co_await call_as(other_, "POST", "/sandboxes/" + name);
      EXPECT_EQ(form_of(lease, name), form_of(unknown_lease, "nosuch"));
      auto run = co_await call_as(other_, "POST", "/api/v1/execute", submission_in(name));
      EXPECT_EQ(form_of(run, name), form_of(unknown_run, "nosuch"));
      auto code = co_await call_as(other_, "POST", "/execute", code_in(name));
      EXPECT_EQ(form_of(code, name), form_of(unknown_code, "nosuch"));
      // As a profile, by the name of its language.
      auto profile = co_await create(other_, with_profile(name));
      EXPECT_EQ(profile.status, 404u);
      EXPECT_THAT(json::serialize(profile.body), testing::Not(HasSubstr("vault")));
    }
    EXPECT_THAT(json::serialize(unknown_lease.body), testing::Not(HasSubstr("zig")));
    // A shipped language whose pool is another's is as one without a pool.
    auto none = co_await call_as(other_, "POST", "/sandboxes/rust");
    auto closed = co_await call_as(other_, "POST", "/sandboxes/cpp");
    EXPECT_EQ(closed.status, none.status);
    EXPECT_THAT(json::serialize(closed.body), testing::Not(HasSubstr("vault")));
    auto own = co_await call_as(acme_, "POST", "/sandboxes/zig");
    EXPECT_EQ(own.status, 200u) << json::serialize(own.body);
    auto cpp = co_await call_as(acme_, "POST", "/sandboxes/cpp");
    EXPECT_EQ(cpp.status, 200u) << json::serialize(cpp.body);
  });
}

TEST_P(ServiceOwners, ClosedProfileOfALanguagesName_GivesWhatItsAbsenceWould) {
  // `c` runs in `cpp` if it has no profile of its own. It must not be visible that `c` belongs to acme.
  more_ = [](config::Config& config) {
    Profile own = config.manager.profiles.front();
    own.name = "c";
    config.manager.profiles.push_back(own);
    config.access.profiles.emplace("c", auth::AccessList({"acme"}));
  };
  serve([this]() -> Task<> {
    static const std::vector<std::string> of_c{"c", "gcc"};
    for (const std::string& name : of_c) {
      auto theirs = co_await create(other_, with_profile(name));
      EXPECT_EQ(theirs.status, 201u) << json::serialize(theirs.body);
      EXPECT_EQ(theirs.text("profile"), "cpp");
      auto ended = co_await call_as(other_, "DELETE", "/sessions/other/s");
      EXPECT_EQ(ended.status, 200u);
    }
    auto owners = co_await create(acme_, with_profile("gcc"));
    EXPECT_EQ(owners.text("profile"), "c");
  });
}

TEST_P(ServiceOwners, ClosedDefaultProfile_IsNotNamed) {
  more_ = [](config::Config& config) { config.sessions.profile = "vault"; };
  serve([this]() -> Task<> {
    auto refused = co_await bash(other_, "true");
    EXPECT_EQ(refused.status, 404u);
    EXPECT_THAT(json::serialize(refused.body), testing::Not(HasSubstr("vault")));
    auto named = co_await create(other_, with_profile("python"));
    EXPECT_EQ(named.status, 201u) << json::serialize(named.body);
    auto own = co_await bash(acme_, "echo $INNER");
    EXPECT_EQ(own.text("stdout"), "value-of-vault\n");
  });
}

TEST_P(ServiceOwners, Access_IsShownToAdminsWithoutValues) {
  serve([this]() -> Task<> {
    auto refused = co_await call_as(acme_, "GET", "/v1/sandbox/access");
    EXPECT_EQ(refused.status, 403u);
    auto shown = co_await call_as(admin_, "GET", "/v1/sandbox/access");
    EXPECT_EQ(shown.status, 200u);
    const std::string text = json::serialize(shown.body);
    EXPECT_THAT(text, testing::Not(HasSubstr("value-of")));
    EXPECT_THAT(text, HasSubstr(R"({"name":"ACME_KEY","all_tenants":false,"tenants":["acme"]})"));
    EXPECT_THAT(text, HasSubstr(R"({"name":"INNER","all_tenants":false,"tenants":[]})"));
    EXPECT_THAT(text, HasSubstr(R"({"name":"OPEN_KEY","all_tenants":true,"tenants":[]})"));
    EXPECT_THAT(text, HasSubstr(R"("name":"vault","all_tenants":false,"tenants":["acme"],"secrets":["INNER"],)"
                                R"("mounts":["/data"])"));
    EXPECT_THAT(text, HasSubstr(R"({"name":"python","all_tenants":true)"));
  });
}

TEST_P(ServiceOwners, GuardedProfileThatListsNoTenants_DoesNotStart) {
  more_ = [](config::Config& config) { config.access.profiles.clear(); };
  server::ServiceOptions options;
  options.config.manager.engine.state_dir = (scratch_.path() / "state").string();
  options.config.manager.profiles.emplace_back().name = "session";
  adjust_(options);
  const auto service = server::Service::create(io_.get_executor(), options);
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(service.error().message, HasSubstr("profile 'vault' has secrets and mounts"));
  EXPECT_THAT(service.error().message, HasSubstr("tenants: ["));
}

INSTANTIATE_TEST_SUITE_P(Backends, ServiceOwners, testing::Values(Target{"oci", "crun"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
