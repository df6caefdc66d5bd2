// The command's own stdin, stdout and stderr, so that a slow reader or a silent writer never keeps it from its signals.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/async.hpp"
#include "core/unique_fd.hpp"

namespace cloche::cli {

// A descriptor, waited for by the event loop where it can be: pipes, sockets and terminals, but not files.
class Descriptor {
 public:
  Descriptor(const boost::asio::any_io_executor& executor, UniqueFd fd);
  // A descriptor of this process, opened again: processes that share it do not see it non-blocking.
  static Descriptor own(const boost::asio::any_io_executor& executor, int fd);

  // Some bytes; none at the end.
  async::Task<std::string> read();
  // False if the reader is gone.
  async::Task<bool> write(std::string_view bytes);

 private:
  UniqueFd fd_;
  std::optional<boost::asio::posix::stream_descriptor> stream_;
};

// Where a program's stdin comes from: a file, "-" for the command's own, or, when that is not asked for and a terminal,
// nothing.
Descriptor open_input(const boost::asio::any_io_executor& executor, const std::string& file);

}  // namespace cloche::cli
