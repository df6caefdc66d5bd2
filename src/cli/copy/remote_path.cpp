#include "cli/copy/remote_path.hpp"

#include "cli/client/answer_error.hpp"
#include "cli/copy/copy_place.hpp"

namespace cloche::cli {

namespace {

constexpr std::chrono::seconds patience{60};

Task<Result<unsigned>> head_status(Service& service, std::string target) {
  http::Request request;
  request.method = "HEAD";
  request.target = std::move(target);
  const http::BodySink none;
  const Deadline deadline = Deadline::after(patience);
  CLOCHE_CO_TRY(const http::Response response, co_await service.ask(std::move(request), none, deadline));
  co_return response.status;
}

// The answer to HEAD has no words; the same question with GET has, and is only asked when it is refused.
Task<Result<RemoteKind>> refusal(Service& service, std::string target) {
  auto answered = co_await service.get(std::move(target));
  if (!answered) co_return fail(std::move(answered).error());
  co_return fail(ErrorCode::protocol, "the service returned contradictory information about a path");
}

}  // namespace

std::string file_target(const SessionPlace& place, std::string_view path) {
  std::string target = place.target() + "/files/";
  // Slashes stay: a name that has one in it is refused.
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    target += percent_encoded(path.substr(0, slash));
    path.remove_prefix(slash);
    if (path.empty()) break;
    target += '/';
    path.remove_prefix(1);
  }
  return target;
}

std::string copy_target(const SessionPlace& place, std::string_view path) {
  return place.target() + "/copy?path=" + percent_encoded(path);
}

Task<Result<RemoteKind>> look_at(Service& service, const SessionPlace& place, std::string path) {
  if (path == "." || path == "/") co_return RemoteKind::directory;
  std::string target = file_target(place, path);
  CLOCHE_CO_TRY(const unsigned status, co_await head_status(service, target));
  if (status == 200) co_return RemoteKind::file;
  if (status == 404) co_return RemoteKind::missing;
  if (status != 400) co_return co_await refusal(service, std::move(target));
  // Not a file. A directory can be listed.
  boost::json::object wanted;
  wanted["session_id"] = place.session;
  wanted["tenant_id"] = place.tenant;
  wanted["pattern"] = "*";
  wanted["path"] = path;
  wanted["limit"] = 1;
  boost::json::value body = std::move(wanted);
  std::string glob = "/glob";
  auto listed = co_await service.post(std::move(glob), std::move(body));
  if (listed) co_return RemoteKind::directory;
  if (listed.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::invalid_argument, path + " is neither a file nor a directory");
  }
  co_return fail(std::move(listed).error());
}

}  // namespace cloche::cli
