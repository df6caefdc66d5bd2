#include "agent/egress/meant_destination.hpp"

#include "core/redirected_socket.hpp"

namespace cloche::agent {

std::optional<MeantDestination> meant_destination(int socket, NameTable& names) {
  auto from = redirected_from(socket);
  if (!from) return std::nullopt;
  if (!wire::means_a_name(from->v4)) return MeantDestination{std::move(from->address), from->port};
  auto name = names.name_of(from->v4);
  if (!name) return std::nullopt;
  return MeantDestination{std::move(*name), from->port};
}

}  // namespace cloche::agent
