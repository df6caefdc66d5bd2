// Stillness: since when no file of the sandbox can have been changed, because nobody was there who could.
//
// All that changes files here is started by the agent: programs, and workers that write. What was found in a tree while
// nobody was at work holds until somebody is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cloche::agent {

class Stillness {
 public:
  // Somebody at work, from begin() until this is destroyed.
  class Work {
   public:
    Work() = default;
    Work(Work&& other) noexcept : whose_(std::exchange(other.whose_, nullptr)) {}
    Work& operator=(Work&& other) noexcept {
      std::swap(whose_, other.whose_);
      return *this;
    }
    ~Work() {
      if (whose_ != nullptr) whose_->end();
    }

   private:
    friend class Stillness;
    explicit Work(Stillness* whose) : whose_(whose) {}
    Stillness* whose_ = nullptr;
  };

  Stillness();

  Work begin();
  // There are places that others than the agent's own change as well: from now on there is no stillness.
  void share() { shared_ = true; }

  // All changes in the tree at `place` were made no later than this, by the clock that files are stamped with. In
  // nanoseconds; now, where somebody is at work.
  std::int64_t last_change(const std::string& place) const;

  // A look at all files of a tree: who takes one says before what he has found after.
  struct Look {
    std::string place;
    std::uint64_t beginnings = 0;
  };
  std::optional<Look> look_at(std::string place) const;
  void found(Look look, std::int64_t newest_ns);

 private:
  void end();

  bool shared_ = false;
  std::uint64_t living_ = 0;
  std::uint64_t beginnings_ = 0;  // so far: when it is the same, nobody has been at work in between
  std::int64_t ended_ns_;         // the last of them
  struct Found {
    Look look;
    std::int64_t newest_ns = 0;
  };
  std::optional<Found> found_;
};

}  // namespace cloche::agent
