// Prints every route of the service, a line each: method and pattern; with the argument `dialects` those of its
// dialects. The tests of tenants walk over them, so that a route that is added cannot be forgotten there.
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "server/service.hpp"

namespace {

int print_routes(const std::filesystem::path& scratch, bool dialects) {
  boost::asio::io_context io{1};
  cloche::server::ServiceOptions options;
  options.config.manager.engine.state_dir = scratch / "state";
  options.config.manager.engine.run_dir = scratch / "run";
  cloche::http::ListenUnix socket;
  socket.path = scratch / "socket";
  options.listen.emplace_back(socket);
  const auto service = cloche::server::Service::create(io.get_executor(), std::move(options));
  if (!service) {
    std::fprintf(stderr, "%s\n", service.error().message.c_str());
    return EXIT_FAILURE;
  }
  const auto routes = dialects ? (*service)->dialect_route_names() : (*service)->route_names();
  for (const std::string& route : routes) std::printf("%s\n", route.c_str());
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  char scratch[] = "/tmp/cloche-routes-XXXXXX";
  if (::mkdtemp(scratch) == nullptr) return EXIT_FAILURE;
  const int code = print_routes(scratch, argc > 1 && std::string_view(argv[1]) == "dialects");
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  return code;
}
