#include "process/capture.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "process/poll_time.hpp"

namespace cloche::process {

namespace {

constexpr std::chrono::milliseconds look_up_every{100};  // until a cancellation is noticed

// Takes what is there; false at the end.
bool take_some(Captured& output) {
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(output.fd, buffer.data(), buffer.size());
  if (n <= 0) return n < 0 && errno == EINTR;
  const auto count = static_cast<std::size_t>(n);
  output.kept.append(buffer.data(), std::min<std::size_t>(count, output.most.count - output.kept.size()));
  output.produced += count;
  return true;
}

}  // namespace

Result<CaptureEnd> capture(const Child& child, std::span<Captured> outputs, const CancelToken& token) {
  std::vector<pollfd> watched;
  for (const Captured& output : outputs) watched.push_back({output.fd, POLLIN, 0});
  watched.push_back({child.end_descriptor(), POLLIN, 0});
  bool ended = false;
  for (;;) {
    CLOCHE_CHECK(token.check("wait for a program"));
    const int ready = ::poll(watched.data(), watched.size(), ended ? 0 : poll_time(token.deadline(), look_up_every));
    if (ready < 0 && errno != EINTR) return fail_errno("wait for a program");
    for (std::size_t i = 0; ready > 0 && i < outputs.size(); ++i) {
      if (watched[i].revents != 0 && !take_some(outputs[i])) watched[i].fd = -1;
      if (outputs[i].produced > outputs[i].most.count) return CaptureEnd::output_limit;
    }
    // What it printed before its end is in the pipes by now: one look finds nothing more.
    if (ended && ready == 0) return CaptureEnd::ended;
    if (ready > 0 && watched.back().revents != 0) {
      ended = true;
      watched.back().fd = -1;
    }
  }
}

}  // namespace cloche::process
