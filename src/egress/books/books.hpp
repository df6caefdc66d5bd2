// Books: the last events of one sandbox's way out, for any number of readers, and its totals.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "core/async/event.hpp"
#include "egress/books/event.hpp"

namespace cloche::egress {

struct Totals {
  std::uint64_t connections = 0;  // that were allowed
  std::uint64_t requests = 0;     // that were allowed
  std::uint64_t denied = 0;
  std::uint64_t failed = 0;
  std::uint64_t over_quota = 0;
  std::uint64_t open = 0;  // connections of programs, now
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
};

// Used by one thread.
class Books {
 public:
  using Watcher = std::function<void(const EgressEvent&)>;

  // `all`: totals of all books together, which are counted too. `watcher`: called for each event, for the log.
  Books(const Executor& executor, std::size_t kept, std::shared_ptr<Totals> all = nullptr, Watcher watcher = nullptr);

  // For the next connection or request.
  std::uint64_t next_id() { return ++last_id_; }
  // Sets number and time.
  void add(EgressEvent event);
  void count_bytes(std::uint64_t up, std::uint64_t down);
  void connection_opened();
  void connection_closed();

  // Of the last event; 0 if there was none.
  std::uint64_t last_number() const { return last_number_; }
  // The events after this number that are still kept, in their order. A gap in the numbers: the reader was too slow.
  std::vector<EgressEvent> after(std::uint64_t number) const;
  // Waits until there is an event after this number, until the books are closed, or until the deadline.
  Task<> wait_after(std::uint64_t number, Deadline deadline = Deadline::never());

  // No event will follow: readers end. Books may be opened again, by the next way out of the same session.
  void close();
  void reopen() { closed_ = false; }
  bool closed() const { return closed_; }

  const Totals& totals() const { return totals_; }

 private:
  void for_totals(const std::function<void(Totals&)>& change);

  const std::size_t kept_;
  std::shared_ptr<Totals> all_;
  Watcher watcher_;
  std::deque<EgressEvent> events_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
  Totals totals_;
  Event changed_;
};

}  // namespace cloche::egress
