#include "egress/secrets/secret_source.hpp"

#include <cstdlib>

#include "auth/guarded_file.hpp"
#include "core/file_error.hpp"
#include "process/capture.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::egress {

namespace {

// A value may end with a line break, "\r\n" at most.
constexpr Bytes most_read{longest_secret.count + 2};

Result<std::string> checked_secret(std::string value) {
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  if (value.empty()) return fail(ErrorCode::invalid_argument, "the secret is empty");
  if (value.size() < shortest_secret) {
    return fail(ErrorCode::invalid_argument, "the secret is shorter than " + std::to_string(shortest_secret) +
                                                 " bytes, so it could not be found in responses");
  }
  if (value.size() > longest_secret.count) {
    return fail(ErrorCode::invalid_argument, "the secret is larger than " + to_string(longest_secret));
  }
  return value;
}

Result<std::string> secret_of_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return fail(ErrorCode::not_found, "the server has no environment variable " + shown(name));
  }
  return std::string(value);
}

Result<std::string> secret_of_file(const std::string& path) {
  const auth::FileRule rule{.secrecy = auth::Secrecy::only_intact,
                            .links = auth::Links::followed,  // mounted secrets are exchanged by a link
                            .most_bytes = most_read.count};
  CLOCHE_TRY(auth::GuardedFile file, auth::read_guarded(path, rule));
  if ((file.stamp.mode & S_IROTH) != 0) {
    return fail(ErrorCode::permission_denied,
                path + " contains a secret and is readable by every user of this host: run chmod o-r on it");
  }
  return std::move(file.content);
}

Result<std::string> secret_of_command(const std::vector<std::string>& command, const CancelToken& token) {
  if (command.empty()) return fail(ErrorCode::invalid_argument, "the command is empty");
  const auto program = process::find_program(command.front());
  if (!program) return fail(ErrorCode::not_found, "program not found on this host: " + shown(command.front()));
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  CLOCHE_TRY(const UniqueFd errors, process::make_bounded_memory(kib(16)));
  process::Spec spec;
  spec.program = *program;
  spec.argv = command;
  spec.environment = process::own_environment();
  spec.out = out.write.get();
  spec.err = errors.get();
  spec.parent_death = process::Spec::ParentDeath::is_killed;
  auto child = process::Child::start(spec);
  if (!child) return fail(ErrorCode::unavailable, child.error().message);
  out.write.reset();
  process::Captured output{out.read.get(), most_read, {}, 0};
  const auto end = process::capture(*child, {&output, 1}, token);
  child->kill();
  const process::Ended& ended = child->reap();
  if (!end) return fail(end.error().code, command.front() + ": " + end.error().message);
  if (*end == process::CaptureEnd::output_limit) {
    return fail(ErrorCode::limit_reached,
                command.front() + " printed more than a secret of " + to_string(longest_secret) + " can have");
  }
  if (ended.exit_code() != 0) {
    return fail(ErrorCode::unavailable, command.front() + " failed with exit code " +
                                            std::to_string(ended.exit_code()) + "; run it by hand to see why");
  }
  return std::move(output.kept);
}

}  // namespace

Result<std::string> read_secret(const EgressSecret& source, const CancelToken& token) {
  Result<std::string> value;
  switch (source.source) {
    case EgressSecret::Source::value: value = source.text; break;
    case EgressSecret::Source::env: value = secret_of_variable(source.text); break;
    case EgressSecret::Source::file: value = secret_of_file(source.text); break;
    case EgressSecret::Source::command: value = secret_of_command(source.command, token); break;
  }
  if (!value) return value;
  return checked_secret(std::move(*value));
}

}  // namespace cloche::egress
