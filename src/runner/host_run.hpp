// A program run on the host itself, without a sandbox: only ever because an operator has said so. Blocking.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cloche/submission.hpp"
#include "core/result.hpp"
#include "sandbox/exec.hpp"

namespace cloche::runner {

struct HostRun {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string directory;
  std::string input;
  std::chrono::milliseconds wall{};
  Bytes output;  // of stdout and of stderr
};

// As user nobody if this process is root (lint-words: allow). Its whole session is killed at its end, at the time limit
// and at the output limit. There are no other limits.
Result<Exec::Collected> run_on_host(const HostRun& run);

// A directory of its own for such a run, owned by the user it runs as; gone with the object.
class HostDirectory {
 public:
  static Result<HostDirectory> make(const FileTree& files);
  HostDirectory(HostDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  HostDirectory& operator=(HostDirectory&&) = delete;
  ~HostDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit HostDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace cloche::runner
