// HostCopy: files and trees between the host and a sandbox. What a sandbox says is not trusted: its names cannot leave
// the place on the host, its sizes are counted as they come.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <string>

#include "cloche/sandbox_manager.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche {

class HostCopy {
 public:
  // `place` makes a path in the sandbox of what the caller wrote. All three outlive it.
  HostCopy(LiveSandbox& sandbox, asio::thread_pool& threads, std::function<FilePath(std::string)> place)
      : sandbox_(sandbox), threads_(threads), place_(std::move(place)) {}

  Task<Result<CopyReport>> into_sandbox(std::string from, std::string to);
  Task<Result<CopyReport>> out_of_sandbox(std::string from, std::string to, Bytes most);

 private:
  Task<Status> write_into(std::string from, std::string to, std::uint32_t mode);
  Task<Status> read_out(std::string from, std::string to, Bytes most);
  Task<Status> read_tree_out(std::string from, std::string to, Bytes most);

  LiveSandbox& sandbox_;
  asio::thread_pool& threads_;
  std::function<FilePath(std::string)> place_;
  CopyReport report_;
};

}  // namespace cloche
