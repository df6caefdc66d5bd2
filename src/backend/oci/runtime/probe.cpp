#include "backend/oci/runtime/probe.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>

#include "backend/oci/files.hpp"
#include "backend/oci/sandbox_maker.hpp"
#include "core/log.hpp"

namespace cloche::oci {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto longest_probe = 15s;
constexpr auto longest_proof = 30s;
constexpr auto failure_counts_for = 5min;

std::int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// All that the answer depends on.
Result<std::string> circumstances(Host& host, const Runtime& runtime) {
  CLOCHE_TRY(const auto agent, host.agent().ensure());
  struct stat about;
  if (::stat(runtime.program.c_str(), &about) != 0) return fail_errno("stat " + runtime.program);
  std::string text = "2 " + host.boot() + " " + runtime.program + " " + std::to_string(about.st_ino) + " " +
                     std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) + " " + agent.digest +
                     " " + host.options().state_dir;
  for (const std::string& flag : runtime.flags) text += " " + flag;
  return text;
}

json::object read_answers(const Host& host) {
  const auto text = read_file(host.probe_file());
  if (!text) return {};
  boost::system::error_code error;
  json::value value = json::parse(*text, error);
  return !error && value.is_object() ? std::move(value.get_object()) : json::object();
}

// The agent's line: its version, then a word for each thing that the kernel can do.
void take_facts(Runtime& runtime, std::string_view answer) {
  const bool knows_flag = answer.find(" no-automount") != answer.npos;
  runtime.stat_flags = knows_flag ? Runtime::StatFlags::all : Runtime::StatFlags::not_no_automount;
}

// The agent's line when the last probe succeeded, its error when it failed; nothing when it must be tried.
std::optional<Result<std::string>> known_answer(const Host& host, std::string_view name, const std::string& key) {
  try {
    const json::object answers = read_answers(host);
    const json::value* answer = answers.if_contains(name);
    if (answer == nullptr || answer->at("key").as_string() != key) return std::nullopt;
    const auto error = std::string(answer->at("error").as_string());
    if (error.empty()) return std::string(answer->at("answer").as_string());
    const auto age = std::chrono::seconds(now_in_seconds() - answer->at("time").to_number<std::int64_t>());
    if (age < 0s || age > failure_counts_for) return std::nullopt;
    return Result<std::string>(fail(ErrorCode::unavailable, error));
  } catch (const std::exception&) {
    return std::nullopt;  // a file of another version: try
  }
}

void remember_answer(const Host& host, std::string_view name, const std::string& key,
                     const Result<std::string>& answer) {
  json::object answers = read_answers(host);
  answers[name] = json::object{{"key", key},
                               {"answer", answer ? *answer : ""},
                               {"error", answer ? "" : answer.error().message},
                               {"time", now_in_seconds()}};
  if (const Status written = write_file_atomically(host.probe_file(), json::serialize(answers), 0600); !written) {
    log::warn("cannot save the result of a probe: {}", written.error().message);
  }
}

// The first line that the agent printed; the end of file comes when it is gone.
Result<std::string> read_line(int fd, Deadline deadline) {
  std::string line;
  while (line.find('\n') == line.npos && line.size() < 4096) {
    pollfd ready = {fd, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) == 0 && deadline.passed()) {
      return fail(ErrorCode::timeout, "the agent did not respond");
    }
    char chunk[512];
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n == 0) break;
    if (n > 0) line.append(chunk, static_cast<std::size_t>(n));
  }
  if (line.find('\n') == line.npos) return fail(ErrorCode::unavailable, "the agent ended without a response");
  return line;
}

Result<std::string> try_runtime(Host& host, const SandboxSpec& spec, const Runtime& runtime, const CancelToken& token) {
  CLOCHE_TRY(const MadeSandbox made, make_sandbox(host, spec, runtime, AgentTask::answer, token));
  const auto line = read_line(made.ends.from_agent.get(), token.deadline());
  const Status removed = remove_sandbox(host, made.record.id.value, Deadline::after(10s));
  if (!line) return fail(line.error());
  if (!removed) return fail(removed.error());
  return line;
}

}  // namespace

Result<Runtime> probe_runtime(Host& host, Runtime runtime, const CancelToken& token) {
  // Servers with other state directories may use the same run directory.
  const std::string asked = runtime.name + " " + host.options().state_dir;
  CLOCHE_TRY(const std::string key, circumstances(host, runtime));
  auto answer = known_answer(host, asked, key);
  if (!answer) {
    const std::lock_guard lock(host.probing());
    answer = known_answer(host, asked, key);
    if (!answer) {
      answer = try_runtime(host, SandboxSpec(), runtime, token.until(Deadline::after(longest_probe)));
      if (!*answer) {
        // Given up on the caller's behalf: that says nothing about the runtime.
        CLOCHE_CHECK(token.check("probe " + runtime.name));
        answer = fail(std::move(*answer).error().at("probe " + runtime.name));
      }
      remember_answer(host, asked, key, *answer);
    }
  }
  CLOCHE_TRY(const std::string line, *answer);
  take_facts(runtime, line);
  return runtime;
}

Status prove_sandbox(Host& host, const SandboxSpec& spec, const CancelToken& token) {
  if (!host.cgroups()) return fail(host.cgroups().error());
  CLOCHE_TRY(const Runtime runtime, choose_runtime(host, spec.runtime, token));
  if (!spec.image.empty()) {
    // Unpacking may take its time, and an image may be built while the service runs.
    const auto root = host.images().root_of(spec.image, token);
    const bool later = !root && (root.error().code == ErrorCode::not_found || root.error().code == ErrorCode::timeout);
    if (later) return {};
  }
  const auto tried = try_runtime(host, spec, runtime, token.until(Deadline::after(longest_proof)));
  // GPUs that are lent to other sandboxes now say nothing of later.
  const bool are_lent = !tried && !spec.gpus.empty() && tried.error().code == ErrorCode::limit_reached;
  if (!tried && !are_lent) return fail(tried.error());
  return {};
}

Result<Runtime> choose_runtime(Host& host, std::string_view name, const CancelToken& token) {
  if (name != "auto") {
    CLOCHE_TRY(Runtime runtime, host.runtimes().find(name, token.deadline()));
    if (runtime.traits->kernel == Kernel::shared) return runtime;
    // One that was asked for by name is used even if its probe fails: creating the sandbox then says why.
    auto probed = probe_runtime(host, runtime, token);
    return probed ? *probed : runtime;
  }
  std::string reasons;
  for (const RuntimeTraits& traits : known_runtimes()) {
    const auto runtime = host.runtimes().find(traits.name, token.deadline());
    auto usable = runtime ? probe_runtime(host, *runtime, token) : runtime;
    if (usable) return usable;
    CLOCHE_CHECK(token.check("choose a runtime"));
    if (runtime) log::warn("runtime {} is installed but does not work: {}", traits.name, usable.error().message);
    reasons += (reasons.empty() ? "" : "; ") + usable.error().message;
  }
  return fail(ErrorCode::unsupported, "no runtime works on this host: " + reasons);
}

}  // namespace cloche::oci
