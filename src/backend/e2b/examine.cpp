#include "backend/e2b/examine.hpp"

namespace cloche::e2b {

namespace {

Finding finding(std::string name, Finding::Level level, std::string detail, std::string advice = "") {
  return Finding{std::move(name), level, std::move(detail), std::move(advice)};
}

bool is_of_this_host(std::string_view place) {
  return place.starts_with("tcp://127.") || place.starts_with("tcp://localhost:") || place.starts_with("tcp://[::1]:");
}

std::string advice_for(const Error& error) {
  switch (error.code) {
    case ErrorCode::permission_denied: return "set E2B_API_KEY to a valid key";
    case ErrorCode::not_found: return "set E2B_TEMPLATE to a template that the key may use";
    case ErrorCode::limit_reached: return "wait, or raise the limits of the account at E2B";
    default: return "check E2B_DOMAIN, or E2B_API_URL and E2B_SANDBOX_URL, and that this host reaches the service";
  }
}

}  // namespace

std::vector<Finding> unconfigured_findings() {
  return {finding("e2b service", Finding::Level::missing, "not configured: E2B_API_KEY is not set",
                  "set E2B_API_KEY to create sandboxes on E2B; the other backends do not need it")};
}

std::vector<Finding> service_findings(const E2bSettings& settings, const std::string& place, const Status& key) {
  std::vector<Finding> findings;
  if (!key) {
    findings.push_back(finding("e2b service", Finding::Level::missing, key.error().message, advice_for(key.error())));
    return findings;
  }
  findings.push_back(finding("e2b service", Finding::Level::good, "at " + place + ", the key is valid"));
  if (place.starts_with("tcp://") && !is_of_this_host(place)) {
    findings.push_back(finding("e2b transport", Finding::Level::warning,
                               "connected without TLS: the network between can read the key and all data",
                               "use an https address"));
  }
  if (!settings.secure_access) {
    findings.push_back(finding("e2b access", Finding::Level::warning,
                               "sandboxes have no access token: a client that knows the id of one controls it, and its "
                               "programs can become root in it",
                               "set E2B_SECURE_ACCESS=true"));
  }
  if (settings.allow_internet_access) {
    findings.push_back(finding("e2b internet", Finding::Level::warning,
                               "programs reach the internet past Cloche's network rules",
                               "set E2B_ALLOW_INTERNET_ACCESS=false"));
  }
  return findings;
}

Finding trial_finding(const E2bSettings& settings, const Status& made, std::chrono::milliseconds took) {
  const std::string name = "e2b template " + settings.template_name;
  if (made) {
    return finding(name, Finding::Level::good, "creates sandboxes; one took " + std::to_string(took.count()) + " ms");
  }
  return finding(name, Finding::Level::missing, "cannot create a sandbox: " + made.error().message,
                 advice_for(made.error()));
}

}  // namespace cloche::e2b
