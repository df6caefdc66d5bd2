// FileWatch: what happens to the files of a directory of a living sandbox, as far as the user can see it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "sandbox/agent_link.hpp"
#include "wire/file_messages.hpp"

namespace cloche {

using wire::WatchEvent;

enum class Recursion { none, whole_tree };

struct WatchOptions {
  Recursion recursion = Recursion::none;
  std::uint32_t most_directories = 8192;  // more are not watched, which is an event `overflow`
};

// The destructor ends the watch.
class FileWatch {
 public:
  // `early`: what came before the watch was known to be armed.
  explicit FileWatch(std::unique_ptr<AgentStream> stream, std::string early = {})
      : stream_(std::move(stream)), partial_(std::move(early)) {}

  // Waits for events; one or more of them, in order. An event `overflow` says that others were lost. not_found when the
  // directory was removed or moved. After a timeout the watch goes on; after any other error it has ended.
  Task<Result<std::vector<WatchEvent>>> next(Deadline deadline = Deadline::never());

 private:
  // The whole records in what has come; the rest stays.
  Result<std::vector<WatchEvent>> take_records();

  std::unique_ptr<AgentStream> stream_;
  std::string partial_;
  std::optional<Error> ended_;
};

}  // namespace cloche
