#include "backend/oci/probe.hpp"

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
constexpr auto failure_counts_for = 5min;

std::int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// All that the answer depends on.
Result<std::string> circumstances(Host& host, const Runtime& runtime) {
  CLOCHE_TRY(const auto agent, host.agent().ensure());
  struct stat about;
  if (::stat(runtime.program.c_str(), &about) != 0) return fail_errno("stat " + runtime.program);
  std::string text = "1 " + host.boot() + " " + runtime.program + " " + std::to_string(about.st_ino) + " " +
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

// What is known already; nothing when it must be tried.
std::optional<Status> known_answer(const Host& host, std::string_view name, const std::string& key) {
  try {
    const json::object answers = read_answers(host);
    const json::value* answer = answers.if_contains(name);
    if (answer == nullptr || answer->at("key").as_string() != key) return std::nullopt;
    const auto error = std::string(answer->at("error").as_string());
    if (error.empty()) return Status{};
    const auto age = std::chrono::seconds(now_in_seconds() - answer->at("time").to_number<std::int64_t>());
    if (age < 0s || age > failure_counts_for) return std::nullopt;
    return Status(fail(ErrorCode::unavailable, error));
  } catch (const std::exception&) {
    return std::nullopt;  // a file of another version: try
  }
}

void remember_answer(const Host& host, std::string_view name, const std::string& key, const Status& status) {
  json::object answers = read_answers(host);
  answers[name] =
      json::object{{"key", key}, {"error", status ? "" : status.error().message}, {"time", now_in_seconds()}};
  if (const Status written = write_file_atomically(host.probe_file(), json::serialize(answers), 0600); !written) {
    log::warn("the answer of a probe is not kept: {}", written.error().message);
  }
}

// The first line that the agent printed; the end of file comes when it is gone.
Result<std::string> read_line(int fd, Deadline deadline) {
  std::string line;
  while (line.find('\n') == line.npos && line.size() < 4096) {
    pollfd ready = {fd, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) == 0 && deadline.passed()) {
      return fail(ErrorCode::timeout, "the agent did not answer");
    }
    char chunk[512];
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n == 0) break;
    if (n > 0) line.append(chunk, static_cast<std::size_t>(n));
  }
  if (line.find('\n') == line.npos) return fail(ErrorCode::unavailable, "the agent ended without an answer");
  return line;
}

Status try_runtime(Host& host, const Runtime& runtime, const Watch& watch) {
  const SandboxSpec spec;
  CLOCHE_TRY(const MadeSandbox made, make_sandbox(host, spec, runtime, AgentTask::answer, watch));
  const auto line = read_line(made.ends.from_agent.get(), watch.deadline());
  const Status removed = remove_sandbox(host, made.record.id.value, Deadline::after(10s));
  if (!line) return fail(line.error());
  return removed;
}

}  // namespace

Status probe_runtime(Host& host, const Runtime& runtime, const Watch& watch) {
  const std::string name(runtime.traits->name);
  CLOCHE_TRY(const std::string key, circumstances(host, runtime));
  if (const auto known = known_answer(host, name, key)) return *known;
  const std::lock_guard lock(host.probing());
  if (const auto known = known_answer(host, name, key)) return *known;
  Status status = try_runtime(host, runtime, watch.until(Deadline::after(longest_probe)));
  if (!status) {
    // Given up on the caller's behalf: that says nothing about the runtime.
    CLOCHE_CHECK(watch.check("probe " + name));
    status = fail(std::move(status).error().at("probe " + name));
  }
  remember_answer(host, name, key, status);
  return status;
}

Result<Runtime> choose_runtime(Host& host, std::string_view name, const Watch& watch) {
  if (name != "auto") return host.runtimes().find(name, watch.deadline());
  std::string reasons;
  for (const RuntimeTraits& traits : known_runtimes()) {
    auto runtime = host.runtimes().find(traits.name, watch.deadline());
    Status usable = runtime ? probe_runtime(host, *runtime, watch) : Status(fail(runtime.error()));
    if (usable) return runtime;
    CLOCHE_CHECK(watch.check("choose a runtime"));
    if (runtime) log::warn("runtime {} is installed and does not work: {}", traits.name, usable.error().message);
    reasons += (reasons.empty() ? "" : "; ") + usable.error().message;
  }
  return fail(ErrorCode::unsupported, "no runtime works on this host: " + reasons);
}

}  // namespace cloche::oci
