#include "dialect/e2b/interpreter/kernels.hpp"

#include <algorithm>

#include "core/ids.hpp"

namespace cloche::dialect::e2b {

namespace {

using session::ContextLanguage;
using session::Contexts;

// In the form of a UUID, as clients are used to.
std::string new_kernel_id() {
  const std::string digits = random_hex(16);
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" + digits.substr(16, 4) +
         "-" + digits.substr(20);
}

std::unexpected<Error> no_kernel(const std::string& id) {
  return fail(ErrorCode::not_found, "Context " + id + " not found");
}

}  // namespace

Kernels::Kernels(session::Session& session) : session_(session) {
  add(ContextLanguage::python, session.work_dir());
  add(ContextLanguage::javascript, session.work_dir());
}

Kernel& Kernels::add(ContextLanguage language, std::string cwd) {
  kernels_.push_back(Kernel{.id = new_kernel_id(), .language = language, .cwd = std::move(cwd)});
  return kernels_.back();
}

Kernel* Kernels::find(std::string_view id) {
  const auto found = std::ranges::find(kernels_, id, &Kernel::id);
  return found == kernels_.end() ? nullptr : &*found;
}

Result<Kernel*> Kernels::usual(std::string_view language) {
  CLOCHE_TRY(const ContextLanguage wanted, session::parse_context_language(language));
  // The first one in the home directory: it may be one that a caller made after the usual one was removed.
  const auto found = std::ranges::find_if(
      kernels_, [&](const Kernel& kernel) { return kernel.language == wanted && kernel.cwd == session_.work_dir(); });
  return found == kernels_.end() ? &add(wanted, session_.work_dir()) : &*found;
}

Task<Status> Kernels::start(std::string id, Deadline deadline) {
  Kernel* kernel = find(id);
  if (kernel == nullptr) co_return no_kernel(id);
  if (std::exchange(kernel->started, true)) co_return Status{};
  session::ContextOptions options;
  options.language = kernel->language;
  options.directory = kernel->cwd;
  options.results = CellResults::rich;
  auto made = co_await session_.part<Contexts>().create(id, std::move(options), deadline);
  if (made) co_return Status{};
  kernel = find(id);
  if (kernel != nullptr) kernel->started = false;
  co_return fail(std::move(made).error());
}

Task<Result<Kernel>> Kernels::create(ContextLanguage language, std::string cwd, Deadline deadline) {
  const std::string id = add(language, cwd.empty() ? session_.work_dir() : std::move(cwd)).id;
  auto started = co_await start(id, deadline);
  const auto mine = std::ranges::find(kernels_, id, &Kernel::id);
  if (mine == kernels_.end()) co_return no_kernel(id);
  if (started) co_return *mine;
  kernels_.erase(mine);
  co_return fail(std::move(started).error());
}

Task<Status> Kernels::restart(std::string id, Deadline deadline) {
  Kernel* kernel = find(id);
  if (kernel == nullptr) co_return no_kernel(id);
  kernel->executions = 0;
  if (!kernel->started) co_return Status{};
  auto restarted = co_await session_.part<Contexts>().restart(id, deadline);
  if (!restarted) co_return fail(std::move(restarted).error());
  co_return Status{};
}

Task<Status> Kernels::remove(std::string id) {
  const Kernel* kernel = find(id);
  if (kernel == nullptr) co_return no_kernel(id);
  const bool started = kernel->started;
  std::erase_if(kernels_, [&](const Kernel& each) { return each.id == id; });
  if (!started) co_return Status{};
  auto closed = co_await session_.part<Contexts>().close(id);
  co_return closed;
}

}  // namespace cloche::dialect::e2b
