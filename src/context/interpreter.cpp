#include "context/interpreter.hpp"

#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"

namespace cloche {

namespace {

constexpr std::size_t most_in_inbox = 512 * 1024;

}  // namespace

const std::optional<Result<Outcome>> Interpreter::still_on;

Task<> Interpreter::pump(std::shared_ptr<Interpreter> self) {
  auto work = [self] { return read_to_end(self); };
  auto read = co_await guarded("context: output of the interpreter", std::move(work));
  if (read) co_return;
  // Waiting callers learn that it can no longer be used.
  self->exec_->stop();
  self->ended_ = fail(std::move(read).error());
  self->wake_->notify();
}

Task<Status> Interpreter::read_to_end(std::shared_ptr<Interpreter> self) {
  while (!self->ended_) {
    if (self->inbox_bytes_ > most_in_inbox) {
      co_await self->room_.wait();
      continue;
    }
    auto piece = co_await self->exec_->next();
    fault_point<"context.pump">();
    if (!piece) {
      self->ended_ = fail(std::move(piece).error());
    } else if (auto* outcome = std::get_if<Outcome>(&*piece)) {
      self->ended_ = std::move(*outcome);
    } else {
      auto& output = std::get<Output>(*piece);
      if (output.stream == Stream::event) {
        self->take_events(output.bytes);
      } else {
        const std::size_t size = output.bytes.size();
        self->put(std::move(output), size);
      }
    }
    self->wake_->notify();
  }
  co_return Status{};
}

void Interpreter::take_events(std::string_view bytes) {
  reader_.feed(bytes);
  for (;;) {
    auto event = reader_.next();
    if (!event) {
      breach_ = event.error().message;
      exec_->stop();
      return;
    }
    if (!*event) return;
    const auto* end = std::get_if<DriverEnd>(&**event);
    const auto* display = std::get_if<DriverDisplay>(&**event);
    const std::size_t size = end != nullptr ? end->rest.size() : display != nullptr ? display->rest.size() : 0;
    put(std::move(**event), size);
  }
}

void Interpreter::put(Item item, std::size_t bytes) {
  inbox_.emplace_back(std::move(item), bytes);
  inbox_bytes_ += bytes + sizeof(Item);
}

std::optional<Interpreter::Item> Interpreter::take() {
  if (inbox_.empty()) return std::nullopt;
  auto [item, bytes] = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= bytes + sizeof(Item);
  room_.notify();
  return std::move(item);
}

}  // namespace cloche
