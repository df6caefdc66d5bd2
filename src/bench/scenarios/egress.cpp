// Connections of programs to the outside: what the way through the broker adds to a small request, how fast one stream
// is, and what connections cost that are only held.
#include <sstream>

#include "bench/alternatives/python.hpp"
#include "bench/alternatives/service_client.hpp"
#include "bench/bare_relay.hpp"
#include "bench/egress_origin.hpp"
#include "bench/interrupt.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"
#include "wire/egress_messages.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr double mebibyte = 1 << 20;
constexpr std::uint16_t proxy_port = wire::usual_proxy_port;
constexpr int connections_each = 10;

const std::string directly = "directly, on the host";
const std::string through = "through the broker";
const std::string bare_hops = "through bare copies with the hops of an agent";
const std::string with_secret = "through the broker, with a secret";

ServiceSettings settings_for(const Target& target, const EgressOrigin& origin, int sessions) {
  const std::string https = std::to_string(origin.https_port());
  const std::string raw = std::to_string(origin.raw_port());
  ServiceSettings settings;
  settings.target = target;
  settings.limits = "{memory: 256m, cpus: 2, pids: 64, file_size: 64m, work_dir: 64m}";
  settings.most_sessions = sessions + 1;
  settings.warm = 1;
  settings.python = ServiceSettings::Python::cold;
  settings.env = {{"CLOCHE_BENCH_KEY", "a-key-of-the-benchmark"}};
  settings.network = "{mode: allow-list, rules: [origin]}";
  settings.egress = "{secrets: {KEY: {env: CLOCHE_BENCH_KEY}}, extra_ca: \"" + origin.authority() +
                    "\", rules: {origin: {allow: [\"localhost:" + https + "\", \"localhost:" + raw +
                    "\", \"127.0.0.0/8:1-65535\", {host: localhost, ports: [\"" + std::to_string(origin.secret_port()) +
                    "\"], secret: {name: KEY, header: Authorization, value: \"Bearer {secret}\"}}]}}}";
  return settings;
}

Result<std::vector<double>> numbers_in(const std::string& printed) {
  std::istringstream text(printed);
  std::vector<double> numbers;
  for (double number = 0; text >> number;) numbers.push_back(number);
  if (numbers.empty() || !text.eof()) return fail(ErrorCode::internal, "the client printed: " + printed.substr(0, 300));
  return numbers;
}

// The same client on the host and in a session.
class Clients {
 public:
  Clients(Surroundings& surroundings, const EgressOrigin& origin, const ServiceProcess& service)
      : surroundings_(surroundings), origin_(origin), calls_(surroundings, service.socket()) {}

  Result<std::vector<double>> on_host(const EgressTask& task) const {
    CLOCHE_TRY(const std::string printed,
               run_program({"env", "SSL_CERT_FILE=" + origin_.authority(), host_python, "-c", egress_client(task)}));
    return numbers_in(printed);
  }

  Result<std::vector<double>> in_sandbox(EgressTask task) {
    task.proxy = proxy_port;
    const std::string body =
        R"({"session_id":"egress","timeout":120,"code":)" + write_json_string(egress_client(task)) + "}";
    CLOCHE_TRY(const std::string answer, surroundings_.await(calls_.post("/execute", body)));
    CLOCHE_TRY(const auto ran, json::parse_object(answer));
    return numbers_in(json::text(ran, "stdout") + json::text(ran, "stderr"));
  }

  // Connections that last as long as the session.
  Status hold(const std::string& session, EgressTask task) {
    task.proxy = proxy_port;
    const std::string body = R"({"session_id":")" + session + R"(","background":true,"timeout":600,"code":)" +
                             write_json_string(egress_client(task)) + "}";
    CLOCHE_CHECK(surroundings_.await(calls_.post("/execute", body)));
    return {};
  }

  Status open(const std::string& session) {
    CLOCHE_CHECK(surroundings_.await(calls_.post("/sessions", R"({"session_id":")" + session + "\"}")));
    return {};
  }

 private:
  Surroundings& surroundings_;
  const EgressOrigin& origin_;
  ServiceCalls calls_;
};

struct Way {
  std::string name;
  bool in_sandbox = false;
  EgressTask task;
  std::vector<double> numbers;
};

// All ways, in turn.
Status take_turns(Clients& clients, std::vector<Way>& ways, int rounds) {
  for (int round = -1; round < rounds; ++round) {
    for (const std::size_t index : order_of_round(ways.size(), static_cast<std::size_t>(round + 1))) {
      CLOCHE_CHECK(Interrupts::check());
      Way& way = ways[index];
      CLOCHE_TRY(const auto numbers, way.in_sandbox ? clients.in_sandbox(way.task) : clients.on_host(way.task));
      if (round >= 0) way.numbers.insert(way.numbers.end(), numbers.begin(), numbers.end());
    }
  }
  return {};
}

Status measure_requests(Surroundings& surroundings, Clients& clients, const EgressOrigin& origin, Section& section) {
  struct Kind {
    const char* what;
    std::string name;
    int count;
  };
  for (const Kind& kind : {Kind{"new", "HTTPS request, new connection", surroundings.pick(10, 30)},
                           Kind{"kept", "HTTPS request, kept connection", surroundings.pick(50, 200)}}) {
    const EgressTask plain{kind.what, kind.count, origin.https_port()};
    const EgressTask secret{kind.what, kind.count, origin.secret_port()};
    std::vector<Way> ways{{directly, false, plain, {}}, {through, true, plain, {}}, {with_secret, true, secret, {}}};
    CLOCHE_CHECK(take_turns(clients, ways, surroundings.pick(2, 10)));
    double base = 0;
    for (Way& way : ways) {
      const Summary summary = summarise(std::move(way.numbers));
      section.figures.push_back({kind.name + ", " + way.name, "ms", summary});
      if (!way.in_sandbox) {
        base = summary.p50;
        continue;
      }
      const double most = way.name == through ? 1 : 3;
      section.goals.push_back({kind.name + ", " + way.name, "the same client on the host",
                               "at most " + number_text(most) + " ms more (p50)",
                               number_text(summary.p50 - base) + " ms more", summary.p50 - base <= most});
    }
  }
  return {};
}

Status measure_streams(Surroundings& surroundings, Clients& clients, const EgressOrigin& origin, Section& section) {
  CLOCHE_TRY(const auto relay, BareRelay::start(origin.raw_port()));
  for (const auto& [what, name] :
       {std::pair("down", "one stream to the program"), {"up", "one stream to the server"}}) {
    const EgressTask task{what, surroundings.pick(128, 512), origin.raw_port()};
    const EgressTask relayed{what, task.count, relay->port()};
    std::vector<Way> ways{{directly, false, task, {}}, {through, true, task, {}}, {bare_hops, false, relayed, {}}};
    CLOCHE_CHECK(take_turns(clients, ways, surroundings.pick(2, 8)));
    const Summary direct = summarise(std::move(ways[0].numbers));
    const Summary brokered = summarise(std::move(ways[1].numbers));
    const Summary bare = summarise(std::move(ways[2].numbers));
    section.figures.push_back({std::string(name) + ", " + directly, "MiB/s", direct});
    section.figures.push_back({std::string(name) + ", " + through, "MiB/s", brokered});
    section.figures.push_back({std::string(name) + ", " + bare_hops, "MiB/s", bare});
    const double share = brokered.p50 / direct.p50;
    section.goals.push_back(
        {std::string(name) + ", " + through, "a direct connection over loopback", "at least half (p50)",
         number_text(share) + " of it; bare copies: " + number_text(bare.p50 / direct.p50), share >= 0.5});
  }
  return {};
}

Status measure_held(Clients& clients, const ServiceProcess& service, EgressOrigin& origin, int sessions,
                    Section& section) {
  const int all = sessions * connections_each;
  for (int i = 0; i < sessions; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_CHECK(clients.open("held" + std::to_string(i)));
  }
  const double before = resident_memory(service.pid()) / mebibyte;
  for (int i = 0; i < sessions; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_CHECK(clients.hold("held" + std::to_string(i), {"hold", connections_each, origin.raw_port()}));
  }
  const std::string name =
      number_text(all) + " idle connections of " + number_text(sessions) + " sandboxes, memory of the server";
  auto held = origin.wait_until_held(all, Deadline::after(120s));
  if (held) {
    section.figures.push_back({name + ", before", "MiB", single(before)});
    section.figures.push_back({name, "MiB", single(resident_memory(service.pid()) / mebibyte)});
  }
  section.goals.push_back({number_text(all) + " idle connections of " + number_text(sessions) + " sandboxes", "",
                           "all held", held ? "all held" : held.error().message, held.has_value()});
  return {};
}

Status measure(Surroundings& surroundings, const Target& target, Section& section) {
  const int sessions = surroundings.pick(10, 50);
  CLOCHE_TRY(EgressOrigin origin, EgressOrigin::start(surroundings));
  CLOCHE_TRY(const auto service, ServiceProcess::start(surroundings, settings_for(target, origin, sessions)));
  Clients clients(surroundings, origin, *service);
  CLOCHE_CHECK(measure_requests(surroundings, clients, origin, section));
  CLOCHE_CHECK(measure_streams(surroundings, clients, origin, section));
  return measure_held(clients, *service, origin, sessions, section);
}

}  // namespace

Result<Section> measure_egress(Surroundings& surroundings) {
  Section section;
  section.title = "Connections to the outside";
  section.method =
      "A Python client makes small HTTPS requests to a server of the host, over new connections (with the TLS "
      "handshake) and over one that it keeps, and transfers bytes over one connection without TLS. It runs on the host "
      "and in a session, where it uses the proxy. Bare copies are what the hops cost where an agent accepts "
      "connections "
      "(socket, pipe, socket), in a relay that does nothing else. With a secret, the server ends TLS on both sides. "
      "All take turns. "
      "Then connections are held in many sessions.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  auto measured = measure(surroundings, *target, section);
  CLOCHE_CHECK(Interrupts::check());
  if (!measured) section.lacks.push_back({section.title, measured.error().message});
  return section;
}

}  // namespace cloche::bench
