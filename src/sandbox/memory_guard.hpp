// MemoryGuard: kills programs when their sandbox reaches its memory limit.
//
// Where the sandbox has a kernel of its own, its memory is that of one process of the host. The host's kernel can only
// kill that process, and with it the whole sandbox. So the host's limit is somewhat higher, and the guard kills a
// program at the sandbox's own limit. A program that fills memory faster than it can be killed reaches the host's
// limit.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "core/async/task.hpp"
#include "core/bytes.hpp"

namespace cloche {

// How much of a sandbox's memory is in use and cannot be reclaimed.
struct MemoryUse {
  Bytes used;
  Bytes limit;
};

// How long the use can stay unobserved: programs need time to fill memory.
std::chrono::milliseconds time_to_next_look(const MemoryUse& use);

class MemoryGuard : public std::enable_shared_from_this<MemoryGuard> {
 public:
  using Read = std::function<std::optional<MemoryUse>()>;
  // `read` is called on the executor's thread, and must be quick. Without a value the guard stays idle.
  MemoryGuard(const Executor& executor, Read read) : timer_(executor), read_(std::move(read)) {}

  // A program that is killed when memory runs out: the one that started last comes first. Ends with the object.
  class [[nodiscard]] Place {
   public:
    Place() = default;
    ~Place() { leave(); }
    Place(Place&&) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    void leave();

   private:
    friend class MemoryGuard;
    using Kills = std::list<std::function<void()>>;
    Place(std::shared_ptr<MemoryGuard> guard, Kills::iterator kill) : guard_(std::move(guard)), kill_(kill) {}

    std::shared_ptr<MemoryGuard> guard_;
    Kills::iterator kill_;
  };
  // `kill` can be called more than once: memory may still be short while a program is being killed.
  Place watch(std::function<void()> kill);

 private:
  void look();
  void look_after(std::chrono::milliseconds time);

  asio::steady_timer timer_;
  Read read_;
  std::list<std::function<void()>> kills_;  // in the order in which the programs started
  std::size_t killed_ = 0;                  // of these, from the end, since memory last ran out
  bool waits_ = false;
};

}  // namespace cloche
