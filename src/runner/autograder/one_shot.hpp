// OneShot: one program in one sandbox that is gone after it. Two levels of timeout: in the sandbox, where the agent
// ends the program, and outside it, where a sandbox that does not answer is given up.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "cloche/one_shot.hpp"
#include "language/language_registry.hpp"
#include "pool/manager.hpp"

namespace cloche::runner {

class OneShot {
 public:
  // Backend and manager outlive it; the manager may be none. Warns in the log when the host itself may be used.
  OneShot(Backend& backend, pool::Manager* manager, LanguageRegistry languages, OneShotOptions options);
  ~OneShot();

  // An error means that Cloche could not do its work: no such image, no engine, a sandbox lost.
  Task<Result<OneShotResult>> run(OneShotRequest request, Deadline deadline = Deadline::never());

  // In the language's pool if there is one, else in a sandbox created for it; compiled first if necessary. A language
  // without a sandbox is rejected unless the options allow it. `The programming language 'x' is not currently
  // supported.`
  Task<Result<OneShotResult>> run_code(OneShotCode code, Deadline deadline = Deadline::never());

 private:
  class Place;

  Task<Result<std::unique_ptr<Place>>> open(std::string image, std::string profile, std::string work_dir,
                                            LimitOverrides limits, Deadline deadline);
  Result<std::string> find_profile(const Language& language) const;
  Task<Result<OneShotResult>> run_unsandboxed(const Language& language, OneShotCode code);

  Backend& backend_;
  pool::Manager* manager_;
  LanguageRegistry languages_;
  OneShotOptions options_;
  asio::thread_pool threads_{1};  // for runs on the host, which block
};

}  // namespace cloche::runner
