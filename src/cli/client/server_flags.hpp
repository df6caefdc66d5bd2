// Flags of every command that uses a running service: its address and the credentials.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "cli/client/service.hpp"

namespace cloche::cli {

struct ServerFlags {
  std::string server;
  std::string token_file;
  std::string authority;

  void add_to(CLI::App& command);
  // Reads the token. Throws SandboxArgumentError for what makes no sense.
  ServerAccess access() const;
};

// --tenant, for those commands that name a session.
void add_tenant_flag(CLI::App& command, std::string& tenant);

}  // namespace cloche::cli
