#include "http/server/peer.hpp"

namespace cloche::http {

std::string Peer::describe() const {
  if (process) return "unix:pid=" + std::to_string(process->pid) + ",uid=" + std::to_string(process->uid);
  const bool colons = address.find(':') != std::string::npos;
  return (colons ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace cloche::http
