// A backend for tests: the real agent in namespaces made by bubblewrap, with the host's /usr, and no limits at all.
// It is quick, needs no runtime, and shows what the layers above do. It is not a sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sandbox/backend.hpp"

namespace cloche {

struct FakeOptions {
  std::string agent_path;
  std::string bubblewrap = "bwrap";
};

// Bubblewrap's command line for such a sandbox; the program that is process 1 of it follows.
std::vector<std::string> fake_sandbox_argv(const FakeOptions& options, const SandboxSpec& spec, const SandboxId& id);

std::unique_ptr<Backend> create_fake_backend(Executor executor, FakeOptions options);

}  // namespace cloche
