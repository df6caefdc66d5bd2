#include "session/contexts.hpp"

#include <algorithm>
#include <deque>

#include "auth/names.hpp"
#include "core/fault_point.hpp"

namespace cloche::session {

struct Contexts::Entry {
  Entry(Session& session, std::string entry_name, ContextOptions options, auth::QuotaTicket entry_ticket)
      : ticket(std::move(entry_ticket)),
        name(std::move(entry_name)),
        language(options.language),
        directory(options.directory.empty() ? session.work_dir() : options.directory),
        sandbox(session.lease().shared()),
        context(make_context(session, std::move(options))),
        changed(session.executor()) {}

  ContextInfo info() const {
    ContextInfo info;
    info.name = name;
    info.language = language;
    info.directory = directory;
    info.alive = context->alive();
    info.calls = static_cast<std::uint32_t>(queue.size());
    info.created = created;
    info.last_used = last_used;
    return info;
  }

  static Task<> end(std::shared_ptr<Entry> entry) {
    struct Told {
      Entry& entry;
      ~Told() {
        entry.gone = true;
        entry.ticket.give_back();
        entry.changed.notify();
      }
    };
    const Told told{*entry};
    fault_point<"context.close">();
    co_await entry->context->close();
  }

  auth::QuotaTicket ticket;  // until its interpreter has ended
  std::string name;
  ContextLanguage language;
  std::string directory;
  std::shared_ptr<LiveSandbox> sandbox;  // outlives the context
  std::unique_ptr<KeptContext> context;
  std::deque<const Turn*> queue;  // it is the first one's turn
  Event changed;                  // it is another one's turn, or it was closed
  bool served = false;            // it was started at least once
  bool closed = false;            // takes no more calls
  bool gone = false;              // its interpreter has ended, and all that it started
  WallTime created = std::chrono::system_clock::now();
  WallTime last_used = created;
};

// A place in the queue of an entry's calls. They wait here and not in the context, because what a call finds changed in
// the workspace must not be an earlier call's.
class Contexts::Turn {
 public:
  Turn(Contexts& contexts, std::shared_ptr<Entry> entry) : contexts_(contexts), entry_(std::move(entry)) {
    entry_->queue.push_back(this);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::erase(entry_->queue, this);
    entry_->changed.notify();
    entry_->last_used = std::chrono::system_clock::now();
    entry_->served = entry_->served || entry_->context->alive();
    // One that could not be started takes no room.
    if (!entry_->served && entry_->queue.empty()) contexts_.drop(entry_);
  }

  Task<Status> wait(Deadline deadline) const {
    while (!entry_->closed && entry_->queue.front() != this) {
      if (deadline.passed()) {
        co_return fail(ErrorCode::timeout, "the context was busy with other calls for too long");
      }
      co_await entry_->changed.wait(deadline);
    }
    if (contexts_.closed_) co_return fail(ErrorCode::sandbox_lost, "the session was ended");
    if (entry_->closed) co_return fail(ErrorCode::cancelled, "the context was closed");
    co_return Status{};
  }

 private:
  Contexts& contexts_;
  std::shared_ptr<Entry> entry_;
};

namespace {

constexpr std::chrono::seconds artifact_timeout{60};

std::unexpected<Error> no_such(const std::string& name) {
  return fail(ErrorCode::not_found, "the session has no context '" + name + "'");
}

}  // namespace

Contexts::Contexts(Session& session) : session_(session), endings_(session.executor()) {}

void Contexts::drop(std::shared_ptr<Entry> entry) {
  const auto found = entries_.find(entry->name);
  if (found != entries_.end() && found->second == entry) entries_.erase(found);
  if (std::exchange(entry->closed, true)) return;
  entry->changed.notify();
  endings_.spawn("close context", [entry] { return Entry::end(entry); });
}

Result<std::shared_ptr<Contexts::Entry>> Contexts::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    // A name that cannot be one may be anything, and is not repeated.
    if (!auth::is_valid_name(name)) return fail(ErrorCode::not_found, "the session has no such context");
    return no_such(name);
  }
  return found->second;
}

Result<std::shared_ptr<Contexts::Entry>> Contexts::make(const std::string& name, ContextOptions options) {
  if (closed_) return fail(ErrorCode::sandbox_lost, "the session was ended");
  CLOCHE_CHECK(check_context_name(name));
  if (entries_.size() >= most) {
    return fail(ErrorCode::limit_reached,
                "the session has " + std::to_string(most) + " contexts, which is the limit; close one first");
  }
  CLOCHE_TRY(auth::QuotaTicket ticket, session_.take(auth::Quota::contexts));
  auto entry = std::make_shared<Entry>(session_, name, std::move(options), std::move(ticket));
  return entries_.emplace(name, std::move(entry)).first->second;
}

Result<std::shared_ptr<Contexts::Entry>> Contexts::find_or_make(const std::string& name, std::string_view language) {
  CLOCHE_TRY(const ContextLanguage wanted, parse_context_language(language));
  const auto found = entries_.find(name);
  if (found == entries_.end()) return make(name, ContextOptions{.language = wanted});
  const auto& entry = found->second;
  if (entry->language != wanted) {
    return fail(ErrorCode::already_exists,
                "the context '" + name + "' has the language " + std::string(to_string(entry->language)));
  }
  if (entry->queue.size() >= most_calls)
    return fail(ErrorCode::limit_reached, "too many calls are waiting for this context");
  return entry;
}

Task<Result<ContextResult>> Contexts::run(ContextCall call, OutputSink sink, Deadline deadline) {
  CLOCHE_CO_TRY(const auto entry, find_or_make(call.context, call.language));
  const Turn turn(*this, entry);
  auto mine = co_await turn.wait(deadline);
  if (!mine) co_return fail(std::move(mine).error());
  CLOCHE_CO_CHECK(fallible_point<"context.run">());
  auto ran = co_await run_in(*entry, std::move(call), std::move(sink), deadline);
  co_return ran;
}

Task<Result<ContextResult>> Contexts::run_in(Entry& entry, ContextCall call, OutputSink sink, Deadline deadline) {
  ArtifactCaps caps = call.artifacts;
  caps.rules = call.artifact_choice.over(session_.artifact_rules());
  const bool fresh = !entry.context->alive();
  if (!call.finds_artifacts) {
    auto ran = co_await entry.context->run(std::move(call), std::move(sink), deadline);
    if (ran) ran->fresh = ran->fresh || fresh;
    co_return ran;
  }
  std::string work_dir = session_.work_dir();
  auto mark = co_await WorkspaceMark::take(*entry.sandbox, std::move(work_dir), caps.rules, deadline);
  if (!mark) co_return fail(std::move(mark).error());
  auto ran = co_await entry.context->run(std::move(call), std::move(sink), deadline);
  if (!ran) co_return fail(std::move(ran).error());
  entry.served = true;
  ran->fresh = ran->fresh || fresh;
  const Deadline by = Deadline::after(artifact_timeout);
  const std::string nothing;
  auto changes = co_await mark->changes(*entry.sandbox, caps, nothing, by);
  // How the code ended is known; that not all it made could be found does not change it.
  if (changes) {
    ran->artifacts = std::move(*changes);
  } else {
    ran->artifacts.cut = true;
  }
  co_return ran;
}

Task<Result<ContextInfo>> Contexts::create(std::string name, ContextOptions options, Deadline deadline) {
  if (entries_.contains(name)) {
    co_return fail(ErrorCode::already_exists, "the session already has a context '" + name + "'");
  }
  CLOCHE_CO_TRY(const auto entry, make(name, std::move(options)));
  auto started = co_await start_anew(entry, deadline);
  co_return started;
}

Task<Result<ContextInfo>> Contexts::restart(std::string name, Deadline deadline) {
  CLOCHE_CO_TRY(const auto entry, find(name));
  auto started = co_await start_anew(entry, deadline);
  co_return started;
}

Task<Result<ContextInfo>> Contexts::start_anew(std::shared_ptr<Entry> entry, Deadline deadline) {
  {
    const Turn turn(*this, entry);
    auto mine = co_await turn.wait(deadline);
    if (!mine) co_return fail(std::move(mine).error());
    auto started = co_await entry->context->restart(deadline);
    if (!started) co_return fail(std::move(started).error());
  }
  co_return entry->info();
}

std::vector<ContextInfo> Contexts::list() const {
  std::vector<ContextInfo> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(entry->info());
  return all;
}

Task<Status> Contexts::close(std::string name) {
  CLOCHE_CO_TRY(const auto entry, find(name));
  drop(entry);
  while (!entry->gone) co_await entry->changed.wait();
  co_return Status{};
}

Task<> Contexts::close() {
  closed_ = true;
  while (!entries_.empty()) drop(entries_.begin()->second);
  co_await endings_.join();
}

bool Contexts::busy() const {
  return std::ranges::any_of(entries_, [](const auto& named) { return !named.second->queue.empty(); });
}

}  // namespace cloche::session
