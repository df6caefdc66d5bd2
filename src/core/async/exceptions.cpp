#include "core/async/exceptions.hpp"

#include <atomic>
#include <boost/asio/error.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/system/system_error.hpp>

#include "core/log.hpp"

namespace cloche {

namespace {

std::atomic<std::uint64_t> met = 0;

}  // namespace

bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    return e.code() == boost::asio::error::operation_aborted;
  } catch (const boost::asio::multiple_exceptions& several) {
    return is_cancellation(several.first_exception());
  } catch (...) {
    return false;
  }
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::asio::multiple_exceptions& several) {
    return describe(several.first_exception());
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

std::uint64_t internal_errors() { return met.load(std::memory_order_relaxed); }

void log_internal_error(std::string_view message) {
  met.fetch_add(1, std::memory_order_relaxed);
  log::error("internal error: {}", message);
}

Error to_error(std::string_view what, const std::exception_ptr& error) {
  if (is_cancellation(error)) return {ErrorCode::cancelled, std::string(what) + ": cancelled"};
  const std::string why = describe(error);
  log_internal_error(std::string(what) + ": " + why);
  return {ErrorCode::internal, std::string(what) + ": internal error: " + why};
}

}  // namespace cloche
