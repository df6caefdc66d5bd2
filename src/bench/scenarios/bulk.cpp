// A gigabyte into a session and out again: how fast, and whether the server's memory stays flat.
#include <algorithm>
#include <utility>

#include "archive/tar_writer.hpp"
#include "bench/alternatives/service_client.hpp"
#include "bench/interrupt.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double mebibyte = 1 << 20;
constexpr int archives = 4;
constexpr auto patience = 300s;

// A tar archive of one file, made as it is sent: never in memory as a whole.
class OneFileTar {
 public:
  // `size`: of the content, a multiple of a block.
  OneFileTar(std::string name, std::uint64_t size) : left_(size) {
    tar::Entry entry;
    entry.path = std::move(name);
    entry.size = size;
    entry.mode = 0644;
    header_ = tar::header(entry);
  }

  // The next piece; empty at the end.
  std::string next() {
    if (!header_.empty() || ended_) return std::exchange(header_, {});
    const std::uint64_t count = std::min(left_, longest_piece);
    left_ -= count;
    ended_ = count == 0;
    return ended_ ? tar::end_mark() : std::string(count, 'x');
  }

 private:
  static constexpr std::uint64_t longest_piece = 256 * 1024;

  std::string header_;  // until it is sent
  std::uint64_t left_;
  bool ended_ = false;
};

Task<Result<std::string>> next_of(OneFileTar& tar) {
  CLOCHE_CO_CHECK(Interrupts::check());
  co_return tar.next();
}

Task<Status> count(std::string_view piece, std::uint64_t& bytes) {
  bytes += piece.size();
  co_return Interrupts::check();
}

Task<Status> send_in(http::Client& client, std::string name, std::uint64_t size) {
  OneFileTar tar(name, size);
  http::Request request;
  request.method = "POST";
  request.target = "/sessions/default/bulk/copy";
  request.fields.emplace_back("Content-Type", "application/x-tar");
  request.source = [&tar] { return next_of(tar); };
  auto response = co_await client.send(std::move(request), Deadline::after(patience));
  if (!response) co_return fail(std::move(response).error());
  if (!response->success()) co_return fail(ErrorCode::internal, "copy in: " + response->body.substr(0, 300));
  co_return Status{};
}

Task<Result<std::uint64_t>> take_out(http::Client& client, std::string target) {
  std::uint64_t bytes = 0;
  http::Request request;
  request.method = "GET";
  request.target = std::move(target);
  request.body_limit = Bytes{std::uint64_t{1} << 40};
  http::BodySink sink = [&bytes](std::string_view piece) { return count(piece, bytes); };
  auto response = co_await client.stream(std::move(request), std::move(sink), Deadline::after(patience));
  if (!response) co_return fail(std::move(response).error());
  if (!response->success()) co_return fail(ErrorCode::internal, "copy out: " + response->body.substr(0, 300));
  co_return bytes;
}

// One step: its rate in MiB a second, and the server's memory at its highest.
class Steps {
 public:
  Steps(Section& section, pid_t server) : section_(section), server_(server) {}

  template <class Step>
  Status time(const std::string& name, std::uint64_t bytes, Step step) {
    reset_peak(server_);
    const auto start = Clock::now();
    CLOCHE_CHECK(step());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    section_.figures.push_back({name, "MiB/s", single(static_cast<double>(bytes) / mebibyte / seconds)});
    section_.figures.push_back({name + ", peak memory of the server", "MiB", single(peak_memory(server_) / mebibyte)});
    return {};
  }

 private:
  Section& section_;
  pid_t server_;
};

Status send_archives(Surroundings& surroundings, http::Client& client, std::uint64_t part) {
  for (int i = 0; i < archives; ++i) {
    CLOCHE_CHECK(surroundings.await(send_in(client, "file" + std::to_string(i), part)));
  }
  return {};
}

Status take_files(Surroundings& surroundings, http::Client& client, std::uint64_t part) {
  for (int i = 0; i < archives; ++i) {
    const std::string target = "/sessions/default/bulk/files/file" + std::to_string(i);
    CLOCHE_TRY(const std::uint64_t bytes, surroundings.await(take_out(client, target)));
    if (bytes != part) return fail(ErrorCode::internal, "a file came out with " + std::to_string(bytes) + " bytes");
  }
  return {};
}

Status take_archive(Surroundings& surroundings, http::Client& client, std::uint64_t least) {
  CLOCHE_TRY(const std::uint64_t bytes, surroundings.await(take_out(client, "/sessions/default/bulk/copy")));
  if (bytes < least) return fail(ErrorCode::internal, "an archive came out with " + std::to_string(bytes) + " bytes");
  return {};
}

Status measure(Surroundings& surroundings, ServiceProcess& service, Section& section) {
  const std::uint64_t part = surroundings.pick(std::uint64_t{16} << 20, std::uint64_t{255} << 20);
  const std::uint64_t all = archives * part;
  ServiceCalls calls(surroundings, service.socket());
  http::Client& client = calls.client();
  CLOCHE_CHECK(surroundings.await(calls.post("/sessions", R"({"session_id":"bulk"})")));
  section.figures.push_back({"before, memory of the server", "MiB", single(resident_memory(service.pid()) / mebibyte)});
  Steps steps(section, service.pid());
  CLOCHE_CHECK(steps.time("in, as tar archives", all, [&] { return send_archives(surroundings, client, part); }));
  CLOCHE_CHECK(steps.time("out, as files", all, [&] { return take_files(surroundings, client, part); }));
  return steps.time("out, as one tar archive", all, [&] { return take_archive(surroundings, client, all); });
}

}  // namespace

Result<Section> measure_bulk(Surroundings& surroundings) {
  Section section;
  section.title = "A gigabyte in and out";
  section.method = "Transfers over HTTP on a unix socket: into the workspace of one session (" +
                   surroundings.pick(std::string("64 MiB"), std::string("1020 MiB")) +
                   " in four archives; an archive may have 256 MiB) and out of it. The server's memory is its peak.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  ServiceSettings settings;
  settings.target = *target;
  settings.limits = "{memory: 3g, cpus: 2, pids: 64, file_size: 1g, work_dir: 2g}";
  settings.warm = 1;
  settings.most_sessions = 1;
  settings.python = ServiceSettings::Python::cold;
  auto service = ServiceProcess::start(surroundings, settings);
  auto measured = service ? measure(surroundings, **service, section) : Status(fail(service.error()));
  CLOCHE_CHECK(Interrupts::check());
  if (!measured) section.lacks.push_back({section.title, measured.error().message});
  return section;
}

}  // namespace cloche::bench
