// The walls of one living sandbox of this backend.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "backend/oci/host.hpp"
#include "backend/oci/sandbox_maker.hpp"
#include "core/async/task.hpp"
#include "sandbox/backend.hpp"

namespace cloche::oci {

std::unique_ptr<Enclosure> create_oci_enclosure(Executor executor, asio::thread_pool& pool, std::shared_ptr<Host> host,
                                                MadeSandbox made);

}  // namespace cloche::oci
