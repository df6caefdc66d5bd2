// Attacks by network: sockets of all families, ways to change the network, and everything that could be reached.
#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

namespace {

Attack reach(std::string name, std::string whom) {
  return {.name = std::move(name), .argv = {"network/reach.py", std::move(whom)}};
}

}  // namespace

std::vector<Attack> network_attacks() {
  return {
      {.name = "SocketFamilies_AreTheHarmlessOnes",
       .argv = {"network/families"},
       // No namespace holds it: where the host is a virtual machine, it leads to that machine's host.
       .weak = {.holes = 4}},
      {.name = "Network_CannotBeChanged",
       .argv = {"network/netlink"},
       // Of its own network, which has no other hosts.
       .harmless_on_gvisor = {"SO_MARK", "IP_TRANSPARENT", "SO_DEBUG", "a tunnel"},
       .weak = {.holes = 4}},
      {.name = "Network_ShowsNobodyElse", .argv = {"network/interfaces.py"}, .weak = {.uid = 1000}},
      reach("MetadataServices_CannotBeReached", "metadata"),
      reach("Host_CannotBeReached", "host"),
      reach("NeighboursLoopback_CannotBeReached", "neighbour"),
      reach("AbstractAndNamedSockets_CannotBeReached", "abstract"),
      reach("NameServers_CannotBeReached", "dns"),
      reach("Datagrams_DoNotLeave", "datagrams"),
      reach("BroadcastAndMulticast_DoNotLeave", "broadcast"),
  };
}

}  // namespace cloche::hostile
