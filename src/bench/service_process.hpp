// ServiceProcess: a real `cloche serve` on a unix socket, with directories and an instance of its own. It ends with the
// object, and with this process however that ends.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "bench/host_programs.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

struct ServiceSettings {
  Target target;
  std::string limits = "{memory: 512m, cpus: 1, pids: 256, file_size: 64m, work_dir: 256m}";  // of a session
  int most_sessions = 50;
  int warm = 2;  // sessions kept ready
  enum class Python { warm, cold } python = Python::warm;
  std::string network;  // of the sessions, in YAML; empty: none
  std::string egress;   // the section of this name, in YAML; empty: none
  std::map<std::string, std::string> env;
};

class ServiceProcess {
 public:
  static Result<std::unique_ptr<ServiceProcess>> start(Surroundings& surroundings, const ServiceSettings& settings);

  const std::string& socket() const { return socket_; }
  pid_t pid() const { return child_.pid(); }

 private:
  ServiceProcess(Helper child, std::string socket) : child_(std::move(child)), socket_(std::move(socket)) {}

  Helper child_;
  std::string socket_;
};

}  // namespace cloche::bench
