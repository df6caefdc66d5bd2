#include "hostile/sandbox/stage.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/ids.hpp"

namespace cloche::hostile {

namespace fs = std::filesystem;

namespace {

constexpr const char* canary_text = "cloche canary\n";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void copy_programs(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path target = to / fs::relative(entry.path(), from);
    if (entry.is_directory()) fs::create_directories(target);
    const auto kind = entry.path().extension();
    if (entry.is_regular_file() && kind != ".c" && kind != ".h") fs::copy_file(entry.path(), target);
  }
}

// Settings that belong to the whole host, and that a program with too much power would change first.
std::string settings_of_the_host() {
  std::string all;
  for (const char* name : {"kernel/core_pattern", "kernel/hostname", "kernel/modprobe", "kernel/randomize_va_space",
                           "kernel/sysrq", "kernel/panic", "vm/overcommit_memory", "net/ipv4/ip_forward"}) {
    all += name + std::string("=") + text_of(fs::path("/proc/sys") / name);
  }
  return all;
}

std::string handle_of(const fs::path& path) {
  alignas(file_handle) char space[sizeof(file_handle) + MAX_HANDLE_SZ]{};
  auto* handle = reinterpret_cast<file_handle*>(space);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, path.c_str(), handle, &mount, 0) != 0) return "0:";
  std::string text = std::to_string(handle->handle_type) + ":";
  for (unsigned i = 0; i < handle->handle_bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", handle->f_handle[i]);
    text += digits;
  }
  return text;
}

std::string addresses_of_the_host() {
  ifaddrs* all = nullptr;
  std::string list;
  if (::getifaddrs(&all) != 0) return list;
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    const auto* in = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text) == nullptr || std::string(text).starts_with("127."))
      continue;
    list += (list.empty() ? "" : ",") + std::string(text);
  }
  ::freeifaddrs(all);
  return list;
}

// Every connection is a hole; nothing else knows of these sockets.
bool somebody_came(int listener) { return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0; }

}  // namespace

Stage::Stage() : settings_(settings_of_the_host()) {
  fs::create_directories(programs());
  copy_programs(CLOCHE_HOSTILE_SOURCES, programs());
  copy_programs(CLOCHE_HOSTILE_PROGRAMS, programs());
  // A program that would be root's, in a mount of the sandbox.
  fs::copy_file(programs() / "files/suid", programs() / "files/suid-root");
  ::chmod((programs() / "files/suid-root").c_str(), 04755);
  std::ofstream(programs() / "read-only") << "cloche read only\n";
  fs::create_directory(canary());
  std::ofstream(canary() / "file") << canary_text;

  process_ = std::make_unique<testing_support::Command>(testing_support::CommandSpec{.argv = {"sleep", "900"}});

  listener_ = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  socklen_t length = sizeof any;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&any), length) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any), &length) != 0) {
    throw std::runtime_error("no canary on the network");
  }
  port_ = ntohs(any.sin6_port);

  abstract_name_ = "cloche-canary-" + random_hex(6);
  abstract_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, abstract_name_.data(), abstract_name_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract_name_.size());
  if (::bind(abstract_.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(abstract_.get(), 16) != 0) {
    throw std::runtime_error("no canary among the abstract sockets");
  }
}

std::map<std::string, std::string> Stage::environment() const {
  return {{"CLOCHE_HOSTILE", "inside"},
          {"CANARY_PATH", canary() / "file"},
          {"CANARY_HANDLE", handle_of(canary() / "file")},
          {"CANARY_PORT", std::to_string(port_)},
          {"CANARY_ABSTRACT", abstract_name_},
          {"CANARY_SOCKET", canary() / "socket"},
          {"NEIGHBOUR_PORT", std::to_string(neighbour_port)},
          {"NEIGHBOUR_ABSTRACT", neighbour_abstract},
          {"HOST_ADDRESSES", addresses_of_the_host()},
          {"READ_ONLY_FILE", "/attack/read-only"},
          {"PYTHONDONTWRITEBYTECODE", "1"}};
}

void Stage::expect_host_unharmed() {
  EXPECT_EQ(text_of(canary() / "file"), canary_text) << "the host's file was changed";
  EXPECT_EQ(text_of(programs() / "read-only"), "cloche read only\n") << "a file in a read-only mount was changed";
  EXPECT_EQ(::kill(process_->pid(), 0), 0) << "the host's process is gone";
  EXPECT_FALSE(somebody_came(listener_.get())) << "somebody reached the host by network";
  EXPECT_FALSE(somebody_came(abstract_.get())) << "somebody reached the host by an abstract socket";
  EXPECT_EQ(settings_of_the_host(), settings_) << "settings of the host's kernel were changed";
}

std::vector<std::string> command_of(const std::vector<std::string>& argv) {
  std::vector<std::string> command;
  if (argv.front().ends_with(".py")) command.emplace_back("/usr/bin/python3");
  if (argv.front().ends_with(".sh")) command.emplace_back("/bin/sh");
  command.push_back("/attack/" + argv.front());
  command.insert(command.end(), argv.begin() + 1, argv.end());
  return command;
}

}  // namespace cloche::hostile
