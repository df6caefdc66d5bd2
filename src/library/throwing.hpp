// From Result to exception, at the library's edge.
#pragma once

#include "cloche/errors.hpp"
#include "core/result.hpp"

namespace cloche {

[[noreturn]] void throw_error(const Error& error);

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw_error(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace cloche
