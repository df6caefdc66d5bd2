#include "cli/client/server_flags.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/client/server_place.hpp"
#include "core/unique_fd.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

constexpr std::size_t longest_token = 16384;

std::string read_token_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw SandboxNotFoundError("cannot read the token in " + path + ": " + std::strerror(errno));
  std::string text(longest_token + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SandboxError("cannot read the token in " + path + ": " + std::strerror(errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// The words never repeat the token.
std::string checked_token(std::string token, const std::string& where) {
  const bool fits =
      token.size() <= longest_token && std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  if (token.empty() || !fits)
    throw SandboxArgumentError("no token in " + where + ": the file must contain one line without spaces");
  return token;
}

}  // namespace

void ServerFlags::add_to(CLI::App& command) {
  command.add_option("--server", server, "Address of the service: http://HOST:PORT, https://HOST:PORT or unix:PATH")
      ->envname("CLOCHE_SERVER")
      ->default_str(std::string(usual_server))
      ->type_name("URL");
  command.add_option("--token-file", token_file, "File that contains the token (default: the token in $CLOCHE_TOKEN)")
      ->type_name("FILE");
  command.add_option("--ca-file", authority, "PEM file with the CA certificates for https (default: the system's)")
      ->envname("CLOCHE_CA_FILE")
      ->type_name("FILE");
}

ServerAccess ServerFlags::access() const {
  ServerAccess access;
  const std::string_view where = server.empty() ? usual_server : std::string_view(server);
  access.endpoint = value_or_throw(parse_server_place(where, authority));
  if (!token_file.empty()) {
    access.token = checked_token(read_token_file(token_file), token_file);
  } else if (const char* token = std::getenv("CLOCHE_TOKEN"); token != nullptr && *token != '\0') {
    access.token = checked_token(token, "$CLOCHE_TOKEN");
  }
  return access;
}

void add_tenant_flag(CLI::App& command, std::string& tenant) {
  command.add_option("--tenant", tenant, "Tenant of the session, for an admin (default: the tenant of the token)");
}

}  // namespace cloche::cli
