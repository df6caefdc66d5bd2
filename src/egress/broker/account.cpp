#include "egress/broker/account.hpp"

#include "core/async/exceptions.hpp"

namespace cloche::egress {

Account::Account(std::shared_ptr<Books> books, EgressEvent event)
    : books_(std::move(books)), event_(std::move(event)) {}

Account::~Account() {
  if (closed_) return;
  try {
    close(Outcome::failed, "it ended before it was complete");
  } catch (...) {
    log_internal_error("egress books: " + describe(std::current_exception()));
  }
}

void Account::count(std::shared_ptr<const Traffic> traffic) {
  before_ = *traffic;
  traffic_ = std::move(traffic);
}

void Account::allow(std::string rule) {
  allowed_ = true;
  event_.rule = std::move(rule);
  add(Outcome::allowed, {});
}

void Account::refuse(const Refusal& refusal) {
  if (!refusal.rule.empty()) event_.rule = refusal.rule;
  close(refusal.outcome, refusal.reason);
}

void Account::close(Outcome outcome, std::string reason) {
  if (closed_) return;
  closed_ = true;
  add(outcome, std::move(reason));
}

void Account::add(Outcome outcome, std::string reason) {
  EgressEvent event = event_;
  event.outcome = outcome;
  event.reason = std::move(reason);
  event.duration = std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::Clock::now() - began_);
  if (traffic_) {
    event.bytes_up = traffic_->up - before_.up;
    event.bytes_down = traffic_->down - before_.down;
  }
  books_->add(std::move(event));
}

}  // namespace cloche::egress
