// WriterTracker: since when no file of the sandbox can have changed, because no program or worker was running.
//
// Everything that changes files is started by the agent: programs, and workers that write. The result of a scan of a
// tree that was made while none of them was running stays valid until the next one starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cloche::agent {

class WriterTracker {
 public:
  // A program or worker that may change files, from begin() until this is destroyed.
  class Writer {
   public:
    Writer() = default;
    Writer(Writer&& other) noexcept : tracker_(std::exchange(other.tracker_, nullptr)) {}
    Writer& operator=(Writer&& other) noexcept {
      std::swap(tracker_, other.tracker_);
      return *this;
    }
    ~Writer() {
      if (tracker_ != nullptr) tracker_->end();
    }

   private:
    friend class WriterTracker;
    explicit Writer(WriterTracker* tracker) : tracker_(tracker) {}
    WriterTracker* tracker_ = nullptr;
  };

  WriterTracker();

  Writer begin();
  // Some files can also be changed from outside of the sandbox: from now on no scan is possible.
  void share() { shared_ = true; }

  // The time of the last possible change in the tree at `place`, in nanoseconds of the clock that files are stamped
  // with. While a writer is running this is the current time.
  std::int64_t last_change(const std::string& place) const;

  // A scan of all files of a tree. begin_scan() comes before it, and end_scan() reports its result. nullopt while a
  // writer is running.
  struct Scan {
    std::string place;
    std::uint64_t beginnings = 0;
  };
  std::optional<Scan> begin_scan(std::string place) const;
  void end_scan(Scan scan, std::int64_t newest_ns);

 private:
  void end();

  bool shared_ = false;
  std::uint64_t active_ = 0;
  std::uint64_t beginnings_ = 0;  // so far; if it is unchanged, no writer has run in between
  std::int64_t ended_ns_;         // when the last writer ended
  struct Found {
    Scan scan;
    std::int64_t newest_ns = 0;
  };
  std::optional<Found> found_;
};

}  // namespace cloche::agent
