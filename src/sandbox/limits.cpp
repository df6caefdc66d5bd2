#include "sandbox/limits.hpp"

#include <cmath>
#include <string>

namespace cloche {

namespace {

Status in_range(const char* name, Bytes value, Bytes least, Bytes most) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::invalid_argument, std::string("limit ") + name + " is " + to_string(value) +
                                               "; it must be from " + to_string(least) + " to " + to_string(most));
}

int count_of_unset(const Limits& limits) {
  return int{limits.memory.count == 0} + int{limits.cpus == 0} + int{limits.work_dir.count == 0} +
         int{limits.tmp_dir.count == 0} + int{limits.shm_dir.count == 0};
}

// The sizes are left to the image, and one or two are not.
Status check_mixture(const Limits& limits) {
  if (count_of_unset(limits) < 3) return {};
  return fail(
      ErrorCode::invalid_argument,
      std::string("limit ") +
          (limits.memory.count != 0 ? "memory"
           : limits.cpus != 0       ? "cpus"
                                    : "work_dir") +
          " cannot be set: memory, cpus and the sizes of directories are those of the sandbox's template; leave "
          "this limit out, or use a profile with another template");
}

}  // namespace

Limits limits_of_image(Limits limits) {
  limits.memory = limits.work_dir = limits.tmp_dir = limits.shm_dir = Bytes{};
  limits.cpus = 0;
  return limits;
}

bool are_of_image(const Limits& limits) { return count_of_unset(limits) == 5; }

Limits with_sizes_of(Limits limits, const Limits& made) {
  limits.memory = made.memory;
  limits.cpus = made.cpus;
  limits.work_dir = made.work_dir;
  limits.tmp_dir = made.tmp_dir;
  limits.shm_dir = made.shm_dir;
  return limits;
}

Status require_sizes(const Limits& limits) {
  if (!are_of_image(limits)) return {};
  return fail(ErrorCode::invalid_argument,
              "limit memory is missing: on this backend, memory, cpus and the sizes of directories must be set");
}

Status validate(const Limits& limits) {
  constexpr Bytes most = {std::uint64_t{1} << 44};
  CLOCHE_CHECK(in_range("file_size", limits.file_size, {0}, most));
  if (limits.pids < 8 || limits.pids > 32768) {
    return fail(ErrorCode::invalid_argument,
                "limit pids is " + std::to_string(limits.pids) + "; it must be from 8 to 32768");
  }
  if (limits.open_files < 16 || limits.open_files > 1'048'576) {
    return fail(ErrorCode::invalid_argument,
                "limit open_files is " + std::to_string(limits.open_files) + "; it must be from 16 to 1048576");
  }
  if (are_of_image(limits)) return {};
  CLOCHE_CHECK(check_mixture(limits));
  CLOCHE_CHECK(in_range("memory", limits.memory, mib(8), most));
  CLOCHE_CHECK(in_range("work_dir", limits.work_dir, kib(64), most));
  CLOCHE_CHECK(in_range("tmp_dir", limits.tmp_dir, kib(64), most));
  CLOCHE_CHECK(in_range("shm_dir", limits.shm_dir, kib(64), most));
  if (!std::isfinite(limits.cpus) || limits.cpus < 0.01 || limits.cpus > 1024) {
    return fail(ErrorCode::invalid_argument,
                "limit cpus is " + std::to_string(limits.cpus) + "; it must be from 0.01 to 1024");
  }
  return {};
}

Limits LimitOverrides::over(Limits limits) const {
  limits.memory = memory.value_or(limits.memory);
  limits.cpus = cpus.value_or(limits.cpus);
  limits.pids = pids.value_or(limits.pids);
  limits.file_size = file_size.value_or(limits.file_size);
  limits.open_files = open_files.value_or(limits.open_files);
  return limits;
}

}  // namespace cloche
