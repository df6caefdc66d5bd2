#include "sandbox/backend_traits.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/file_error.hpp"

namespace cloche {

namespace {

constexpr BackendTraits rows[] = {
    {.kind = BackendKind::oci,
     .name = "oci",
     .summary = "an OCI runtime, no daemon",
     .needs_image = false,
     .images = BackendTraits::Images::directories,
     .has_sizes_of_image = false,
     .has_disks = true,
     .contains_root = true,
     .uses_run_dir = true},
    {.kind = BackendKind::docker,
     .name = "docker",
     .summary = "a Docker engine",
     .needs_image = true,
     .image_variable = "SANDBOX_WORKER_IMAGE",
     .usual_image = "python:3.12-slim",
     .images = BackendTraits::Images::engine,
     .has_sizes_of_image = false,
     .has_disks = false,
     .contains_root = false,
     .uses_run_dir = false,
     .engine = &EngineOptions::docker_host,
     .engine_variable = "DOCKER_HOST",
     .usual_engine = "unix:///var/run/docker.sock"},
    {.kind = BackendKind::e2b,
     .name = "e2b",
     .summary = "an E2B service",
     .needs_image = true,
     .images = BackendTraits::Images::templates,
     .has_sizes_of_image = true,
     .has_disks = false,
     .contains_root = false,
     .uses_run_dir = false},
    {.kind = BackendKind::kubernetes,
     .name = "kubernetes",
     .summary = "pods of a Kubernetes cluster",
     .needs_image = true,
     .image_variable = "SANDBOX_WORKER_IMAGE",
     .usual_image = "python:3.12-slim",
     .images = BackendTraits::Images::registry,
     .has_sizes_of_image = false,
     .has_disks = false,
     .contains_root = false,
     .uses_run_dir = false},
};

}  // namespace

std::span<const BackendTraits> all_backends() { return rows; }

const BackendTraits& traits_of(BackendKind kind) {
  const auto* found = std::ranges::find(rows, kind, &BackendTraits::kind);
  if (found == std::end(rows)) throw std::logic_error("a backend without a row");
  return *found;
}

const BackendTraits* find_backend(std::string_view name) {
  const auto* found = std::ranges::find(rows, name, &BackendTraits::name);
  return found == std::end(rows) ? nullptr : found;
}

Result<BackendKind> parse_backend(std::string_view name) {
  if (const BackendTraits* found = find_backend(name)) return found->kind;
  return fail(ErrorCode::invalid_argument, "must be one of " + backend_names() + ", not `" + shown(name) + "`");
}

std::string backend_names() {
  std::string all;
  for (const BackendTraits& row : rows) all += (all.empty() ? "" : ", ") + std::string(row.name);
  return all;
}

std::string describe_backends() {
  std::string all;
  for (const BackendTraits& row : rows) {
    const bool last = &row == std::end(rows) - 1;
    if (!all.empty()) all += last ? " or " : ", ";
    all += std::string(row.name) + " (" + std::string(row.summary) + ")";
  }
  return all;
}

}  // namespace cloche
