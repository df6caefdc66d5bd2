#include "runner/autograder/app_request.hpp"

#include <algorithm>
#include <cctype>

#include "core/async/first_of.hpp"
#include "http/message.hpp"
#include "http/response_reader.hpp"
#include "runner/autograder/app_url.hpp"

namespace cloche::runner {

namespace {

constexpr int most_redirects = 10;
constexpr int most_informational = 8;
// Only the lines between chunks stay unread.
constexpr std::size_t longest_unread = 128 << 10;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// What is said unless the caller says it.
void put_default(http::Request& request, const char* name, std::string value) {
  if (http::field_value(request.fields, name).empty()) request.fields.emplace_back(name, std::move(value));
}

http::Request to_http(AppRequest& asked) {
  http::Request request;
  request.method = upper(std::move(asked.method));
  request.fields = std::move(asked.headers);
  put_default(request, "User-Agent", "cloche");
  put_default(request, "Accept", "*/*");
  if (asked.json) {
    request.body = std::move(*asked.json);
    put_default(request, "Content-Type", "application/json");
  } else if (!asked.form.empty()) {
    request.body = form_encoded(asked.form);
    put_default(request, "Content-Type", "application/x-www-form-urlencoded");
  } else {
    request.body = std::move(asked.data);
  }
  return request;
}

// One response, bytes in as they come.
class Answer {
 public:
  Answer(const http::Request& request, Bytes most) : rule_(rule_of(request)), most_(most) { begin(); }

  bool done() const { return reader_->done() || (rule_ == http::BodyRule::none && reader_->head_done() && !passing()); }

  Status take(std::string_view bytes) {
    unread_ += bytes;
    while (!unread_.empty() && !done()) {
      CLOCHE_TRY(const std::size_t used, reader_->feed(unread_));
      unread_.erase(0, used);
      body_ += reader_->take_body();
      if (reader_->head_done() && passing()) {
        if (++informational_ > most_informational)
          return fail(ErrorCode::protocol, "it sends only informational responses");
        begin();
        continue;
      }
      if (used == 0) break;
    }
    if (unread_.size() > longest_unread && !done())
      return fail(ErrorCode::limit_reached, "a line of the response is too long");
    return {};
  }

  Status end() {
    if (done()) return {};
    CLOCHE_CHECK(reader_->end_of_stream());
    if (!reader_->head_done())
      return fail(ErrorCode::unavailable, "it closed the connection in the middle of its response");
    body_ += reader_->take_body();
    return {};
  }

  AppResponse response() {
    AppResponse response;
    response.status_code = reader_->head().status;
    response.reason = reader_->head().reason;
    response.headers = reader_->head().fields;
    response.content = std::move(body_);
    return response;
  }
  std::string location() const { return std::string(reader_->head().field("Location")); }

 private:
  static http::BodyRule rule_of(const http::Request& request) {
    return request.method == "HEAD" ? http::BodyRule::none : http::BodyRule::as_announced;
  }
  // Another answer follows this one.
  bool passing() const { return reader_->head().status >= 100 && reader_->head().status < 200; }
  void begin() {
    http::ReaderLimits limits;
    limits.body = most_;
    reader_ = std::make_unique<http::ResponseReader>(limits, rule_);
  }

  http::BodyRule rule_;
  Bytes most_;
  std::unique_ptr<http::ResponseReader> reader_;
  std::string unread_;
  std::string body_;
  int informational_ = 0;
};

Task<Status> read_answer(TcpConnection& connection, Answer& answer, Deadline deadline) {
  while (!answer.done()) {
    auto bytes = co_await connection.read(deadline);
    if (!bytes) co_return fail(std::move(bytes).error());
    Status taken = bytes->empty() ? answer.end() : answer.take(*bytes);
    if (!taken || bytes->empty()) co_return taken;
  }
  co_return Status{};
}

Task<Status> exchange(LiveSandbox& sandbox, const http::Request& request, std::uint16_t port, Answer& answer,
                      Deadline deadline) {
  const std::string host = "localhost:" + std::to_string(port);
  CLOCHE_CO_TRY(std::string head, http::serialise_head(request, host, "close"));
  auto connected = co_await sandbox.connect(port, deadline);
  if (!connected) co_return fail(std::move(connected).error());
  const auto connection = std::move(*connected);
  head += request.body;
  // At once: an application may answer before it has read everything.
  const auto send = [&]() -> Task<> {
    [[maybe_unused]] auto sent = co_await connection->write(std::move(head), deadline);
    Event never(co_await asio::this_coro::executor);
    co_await never.wait();  // the answer is what is waited for
  };
  auto both = co_await first_of(read_answer(*connection, answer, deadline), send());
  co_return std::get<0>(std::move(both));
}

bool is_redirect(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// A browser asks by GET where a form's answer is said to be elsewhere.
void follow(http::Request& request, unsigned status) {
  const bool keeps_method = status == 307 || status == 308 || request.method == "HEAD" || request.method == "GET";
  if (keeps_method) return;
  request.method = "GET";
  request.body.clear();
  std::erase_if(request.fields, [](const auto& field) {
    return same_word(field.first, "Content-Type") || same_word(field.first, "Content-Length");
  });
}

}  // namespace

Task<Result<AppResponse>> send_app_request(LiveSandbox& sandbox, AppRequest asked, std::uint16_t default_port) {
  const Deadline deadline = Deadline::after(asked.timeout);
  const Bytes most = asked.most;
  CLOCHE_CO_TRY(AppTarget target, parse_app_target(asked.endpoint, default_port));
  add_params(target, asked.params);
  http::Request request = to_http(asked);
  for (int redirects = 0;; ++redirects) {
    request.target = target.target;
    Answer answer(request, most);
    auto exchanged = co_await exchange(sandbox, request, target.port, answer, deadline);
    if (!exchanged) {
      Error error = std::move(exchanged).error();
      if (error.code == ErrorCode::timeout) error.message = "no response in time";
      if (error.code == ErrorCode::limit_reached) error.message += " (at most " + to_string(most) + " of body)";
      co_return fail(std::move(error).at("HTTP " + request.method + " request to " + target.url() + " failed"));
    }
    AppResponse response = answer.response();
    const std::string location = answer.location();
    if (!is_redirect(response.status_code) || location.empty() || redirects >= most_redirects) co_return response;
    auto next = parse_app_target(location, target.port);
    if (!next) co_return response;  // it points to another host, which is not followed
    if (!location.starts_with('/') && !location.starts_with("http://")) co_return response;
    follow(request, response.status_code);
    target = std::move(*next);
  }
}

}  // namespace cloche::runner
