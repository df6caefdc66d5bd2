// KernelPipe: moves bytes from one socket to another within the kernel, without copying them to this process and back.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::egress {

// Pipes that no bytes are in, for the next that need one. A connection has one only while bytes are under way.
class KernelPipes {
 public:
  struct Ends {
    UniqueFd out;
    UniqueFd in;
  };

  Result<Ends> take();
  void give_back(Ends ends);

 private:
  static constexpr std::size_t most_spare = 16;
  std::vector<Ends> spare_;
};

// One direction. No step blocks, if both sockets are non-blocking, which only this process can change.
class KernelPipe {
 public:
  // At most so much is under way.
  static constexpr std::size_t most = std::size_t{256} << 10;

  explicit KernelPipe(std::shared_ptr<KernelPipes> pipes) : pipes_(std::move(pipes)) {}
  KernelPipe(const KernelPipe&) = delete;
  KernelPipe& operator=(const KernelPipe&) = delete;
  ~KernelPipe() { release(); }

  enum class Step { moved, must_wait, at_end };

  std::size_t held() const { return held_; }
  // From a socket, when nothing is held. `moved`: held() says how much.
  Result<Step> fill(int socket);
  // To a socket; some of what is held, or all. Never `at_end`.
  Result<Step> drain(int socket);

 private:
  void release();

  std::shared_ptr<KernelPipes> pipes_;
  KernelPipes::Ends ends_;
  std::size_t held_ = 0;
};

}  // namespace cloche::egress
