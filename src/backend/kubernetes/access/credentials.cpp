#include "backend/kubernetes/access/credentials.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <map>

#include "core/async/blocking.hpp"
#include "core/unique_fd.hpp"
#include "core/utc_time.hpp"
#include "process/capture.hpp"
#include "process/programs.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_plugin = 30s;
constexpr Bytes most_output = mib(1);
constexpr Bytes most_complaint = kib(4);
// What is about to expire is renewed before.
constexpr auto margin = 30s;
// For a credential without an expiry.
constexpr auto usual_life = std::chrono::hours(1);
constexpr const char* authorities_of_system = "/etc/ssl/certs/ca-certificates.crt";
constexpr std::size_t longest_file_token = 16 * 1024;

std::string state_of_file(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return {};
  return std::to_string(about.st_ino) + "." + std::to_string(about.st_mtim.tv_sec) + "." +
         std::to_string(about.st_mtim.tv_nsec) + "." + std::to_string(about.st_size);
}

struct Pipe {
  UniqueFd out;
  UniqueFd in;
};

Result<Pipe> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Fit for an error.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return text.substr(0, 300);
}

}  // namespace

Result<PluginCredential> run_plugin(const CredentialPlugin& plugin, Deadline deadline) {
  const std::string what = "the credential plugin '" + plugin.command + "'";
  const auto program = process::find_program(plugin.command);
  if (!program) {
    return fail(ErrorCode::permission_denied,
                what + " is not installed" + (plugin.install_hint.empty() ? "" : ": " + one_line(plugin.install_hint)));
  }
  std::map<std::string, std::string> changes(plugin.env.begin(), plugin.env.end());
  changes["KUBERNETES_EXEC_INFO"] = plugin_request(plugin);
  CLOCHE_TRY(Pipe out, open_pipe());
  CLOCHE_TRY(Pipe err, open_pipe());
  process::Spec spec;
  spec.program = *program;
  spec.argv = plugin.args;
  spec.argv.insert(spec.argv.begin(), plugin.command);
  spec.environment = process::own_environment(changes);
  spec.out = out.in.get();
  spec.err = err.in.get();
  auto child = process::Child::start(spec);
  if (!child) return fail(std::move(child).error());
  out.in.reset();
  err.in.reset();
  std::array outputs{process::Captured{.fd = out.out.get(), .most = most_output},
                     process::Captured{.fd = err.out.get(), .most = most_complaint}};
  const CancelToken token(deadline.sooner(Deadline::after(longest_plugin)));
  auto end = process::capture(*child, outputs, token);
  if (!end) return fail(ErrorCode::permission_denied, what + " did not end in time");
  if (outputs[0].produced > most_output.count)
    return fail(ErrorCode::permission_denied, what + " printed more than 1 MiB");
  if (*end == process::CaptureEnd::output_limit) child->kill();
  const int code = child->reap().exit_code();
  if (code != 0 && *end == process::CaptureEnd::ended) {
    return fail(ErrorCode::permission_denied,
                what + " exited with " + std::to_string(code) + ": " + one_line(outputs[1].kept));
  }
  auto credential = read_plugin_credential(outputs[0].kept);
  if (!credential) return fail(std::move(credential).error().at(what));
  return credential;
}

Credentials::Credentials(Executor executor, asio::thread_pool& pool, ClusterAccess access)
    : pool_(pool), access_(std::move(access)), ran_(executor) {}

void Credentials::forget() {
  token_state_.clear();
  printed_.reset();
}

Result<std::string> Credentials::token_of_file() {
  const std::string state = state_of_file(access_.token_file);
  if (!state.empty() && state == token_state_) return token_;
  std::ifstream file(access_.token_file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.pop_back();
  const bool fits =
      !text.empty() && text.size() <= longest_file_token && text.find_first_of("\r\n ") == std::string::npos;
  if (!file || !fits)
    return fail(ErrorCode::invalid_argument, "cannot read a token from the file " + access_.token_file);
  token_ = std::move(text);
  token_state_ = state;
  return token_;
}

Task<Result<Login>> Credentials::login_by_plugin(Deadline deadline) {
  // One run serves all that wait for it.
  while (is_running_) co_await ran_.wait(deadline);
  if (!printed_ || std::chrono::system_clock::now() + margin >= until_) {
    is_running_ = true;
    struct Running {
      Credentials& credentials;
      ~Running() {
        credentials.is_running_ = false;
        credentials.ran_.notify();
      }
    } const running{*this};
    auto work = [plugin = *access_.plugin, deadline] { return run_plugin(plugin, deadline); };
    auto printed = co_await run_blocking(pool_, std::move(work));
    if (!printed) co_return fail(std::move(printed).error());
    const auto expires = parse_utc_text(printed->expires);
    until_ = expires ? std::chrono::system_clock::time_point(*expires) : std::chrono::system_clock::now() + usual_life;
    printed_ = std::move(*printed);
  }
  Login login;
  login.files.certificate = printed_->certificate.empty() ? access_.certificate : printed_->certificate;
  login.files.key = printed_->key.empty() ? access_.key : printed_->key;
  login.token = printed_->token;
  co_return login;
}

Task<Result<Login>> Credentials::login(Deadline deadline) {
  Login login;
  if (access_.plugin) {
    CLOCHE_CO_TRY(login, co_await login_by_plugin(deadline));
  } else {
    login.files.certificate = access_.certificate;
    login.files.key = access_.key;
    login.token = access_.token;
    if (!access_.token_file.empty()) {
      CLOCHE_CO_TRY(login.token, token_of_file());
    }
  }
  login.files.authority = access_.authority.empty() ? authorities_of_system : access_.authority;
  co_return login;
}

}  // namespace cloche::kubernetes
