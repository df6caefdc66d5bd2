#include "server/access.hpp"

#include <algorithm>
#include <filesystem>

#include "server/listen.hpp"

namespace cloche::server {

namespace {

using config::AuthMode;

// True for anything that has the name, a file that cannot be used included: it must not count as no tokens at all.
Result<bool> is_there(const std::string& path) {
  const auto stamp = auth::stamp_of(path, auth::Links::refused);
  if (stamp) return true;
  if (stamp.error().code == ErrorCode::not_found) return false;
  return fail(stamp.error().at("read tokens"));
}

Result<bool> wants_tokens(const config::Config& config, const std::vector<http::ListenOn>& listen) {
  const config::ServerSettings& server = config.server;
  if (server.auth == AuthMode::none) return false;
  if (server.auth == AuthMode::tokens || !server.tokens.empty()) return true;
  CLOCHE_TRY(const bool has_file, is_there(token_file_of(config)));
  if (has_file) return true;
  return !server.jwt && !std::ranges::all_of(listen, is_local);
}

}  // namespace

std::string token_file_of(const config::Config& config) {
  return config.server.tokens.empty() ? config.manager.engine.state_dir + "/tokens.json" : config.server.tokens;
}

Status prepare_token_dir(const config::Config& config) {
  if (!config.server.tokens.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(config.manager.engine.state_dir, error);
  if (!error) return {};
  return fail(errno_error(
      "make " + config.manager.engine.state_dir + " (run as root or choose another state directory)", error.value()));
}

Result<Access> open_access(const config::Config& config, const std::vector<http::ListenOn>& listen) {
  Access access;
  access.options.jwt = config.server.jwt;
  CLOCHE_TRY(const bool tokens, wants_tokens(config, listen));
  if (!tokens) return access;
  access.options.token_file = token_file_of(config);
  CLOCHE_CHECK(prepare_token_dir(config));
  auth::TokenRequest request;
  request.tenant = "default";
  request.role = auth::Role::admin;
  request.note = "created at the first start";
  auto made = auth::TokenFile(*access.options.token_file).create_first(request);
  if (!made) return fail(std::move(made).error().at("create the first token"));
  access.first_token = std::move(*made);
  return access;
}

}  // namespace cloche::server
