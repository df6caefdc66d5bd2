#include "pool/outlet.hpp"

#include "core/fault_point.hpp"

namespace cloche::pool {

Outlet::Outlet(const Executor& executor, std::shared_ptr<LiveSandbox> sandbox,
               std::shared_ptr<egress::SandboxEgress> egress, EgressListenSpec spec)
    : sandbox_(std::move(sandbox)), egress_(std::move(egress)), spec_(spec), tasks_(executor) {}

Outlet::~Outlet() = default;

Task<Status> Outlet::listen(Deadline deadline) {
  CLOCHE_CO_CHECK(fallible_point<"pool.egress.open">());
  auto opened = co_await sandbox_->open_egress(spec_, deadline);
  if (!opened) co_return fail(std::move(opened).error().at("open the way out of the sandbox"));
  fault_point<"pool.egress.opened">();
  if (closed_) co_return fail(ErrorCode::sandbox_lost, "the sandbox was released");
  listener_ = std::move(*opened);
  tasks_.spawn("egress of " + sandbox_->spec().name, [this]() -> Task<> { co_await egress_->run(*listener_); });
  co_return Status{};
}

Task<> Outlet::close() {
  closed_ = true;
  co_await tasks_.shut_down();
  co_await egress_->close();
  listener_.reset();
}

}  // namespace cloche::pool
