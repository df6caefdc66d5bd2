#include "bench/scenarios/growth.hpp"

#include "bench/interrupt.hpp"

namespace cloche::bench {

namespace {

Task<Result<std::string>> ask(ServiceCalls& calls, const GrowingCall& call) {
  return call.body.empty() ? calls.get(call.target) : calls.post(call.target, call.body);
}

Task<Status> make_call(ServiceCalls& calls, const GrowingCall& call) {
  auto answer = co_await ask(calls, call);
  if (!answer) co_return fail(std::move(answer).error());
  if (answer->find(call.must_have) == std::string::npos) {
    co_return fail(ErrorCode::internal, call.target + " answered: " + answer->substr(0, 300));
  }
  co_return Status{};
}

}  // namespace

std::vector<Contender> contenders_of(Surroundings& surroundings, ServiceCalls& calls,
                                     const std::vector<GrowingCall>& growing) {
  std::vector<Contender> contenders;
  for (const GrowingCall& call : growing) {
    Contender contender;
    contender.name = call.name;
    contender.attempt = [&surroundings, &calls, &call] { return surroundings.await(make_call(calls, call)); };
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

Status measure_at(Surroundings& surroundings, ServiceCalls& calls, const std::vector<GrowingCall>& growing, int size,
                  const std::string& of_what, Section& section, std::vector<Line>& lines) {
  const Rounds rounds = surroundings.pick(Rounds{1, 8}, Rounds{3, 50});
  CLOCHE_TRY(auto standings, hold_contest(contenders_of(surroundings, calls, growing), rounds));
  for (std::size_t i = 0; i < standings.size(); ++i) {
    Standing& standing = standings[i];
    standing.name = number_text(size) + " " + of_what + ", " + standing.name;
    lines[i].name = growing[i].name;
    if (!standing.failed) lines[i].points.emplace_back(size, summarise(standing.ms).p50);
  }
  add_standings(section, std::move(standings));
  return {};
}

}  // namespace cloche::bench
