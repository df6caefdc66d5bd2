#include "agent/reset/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/reset/ipc_objects.hpp"
#include "agent/reset/open_sockets.hpp"
#include "agent/reset/writable_places.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr std::size_t most_lines = 32;

bool is_mount_point(const std::string& path, const std::vector<std::string>& mounts) {
  for (const auto& mount : mounts) {
    if (mount == path || mount.starts_with(path + "/")) return true;
  }
  return false;
}

void look_into(const std::string& place, const std::vector<std::string>& mounts, std::vector<std::string>& found) {
  DIR* entries = ::opendir(place.c_str());
  if (entries == nullptr) {
    found.push_back("unreadable " + place);
    return;
  }
  while (const dirent* entry = ::readdir(entries)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    const std::string path = place + "/" + entry->d_name;
    if (is_mount_point(path, mounts)) continue;
    if (found.size() < most_lines) found.push_back("file " + path);
  }
  ::closedir(entries);
}

}  // namespace

void find_leftovers_as(uid_t uid, gid_t gid, const std::vector<std::string>& keep, std::string_view spared_socket,
                       std::vector<std::string>& leftovers) {
  std::vector<std::string> mounts = writable_places_here({});
  const auto places = writable_places_here(keep);
  auto pipe = make_pipe();
  if (!pipe) {
    leftovers.push_back("proof: " + pipe.error().message);
    return;
  }
  const pid_t child = ::fork();
  if (child < 0) {
    leftovers.push_back("proof: cannot fork");
    return;
  }
  if (child == 0) {
    const int report = pipe->second.get();
    close_all_but({2, report});
    std::vector<std::string> found;
    if (!take_user_ids(uid, gid)) found.push_back("proof: cannot act for the user");
    for (const auto& place : places) {
      if (!is_place_of_user(place)) continue;
      look_into(place, mounts, found);
      for (auto& mark : marks_on_place(place)) found.push_back(std::move(mark));
    }
    for (auto& objects : list_ipc_objects()) found.push_back(std::move(objects));
    for (auto& socket : list_open_sockets(spared_socket)) found.push_back(std::move(socket));
    if (has_invisible_queues()) found.push_back("possibly message queues, which are not visible here");
    std::string text;
    for (std::size_t i = 0; i < found.size() && i < most_lines; ++i) text += found[i] + '\n';
    text += '\0';  // said to the end
    if (::write(report, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
    ::_exit(0);
  }
  pipe->second.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(pipe->first.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::waitpid(child, nullptr, 0);
  if (text.empty() || text.back() != '\0') {
    leftovers.push_back("proof: the scanning process was lost");
    return;
  }
  text.pop_back();
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    leftovers.push_back(text.substr(start, end - start));
    start = end + 1;
  }
}

}  // namespace cloche::agent
