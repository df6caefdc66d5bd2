#include "core/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "core/log_repeats.hpp"
#include "core/repeat_filter.hpp"
#include "core/utf8.hpp"

namespace cloche::log {

namespace {

using Line = spdlog::memory_buf_t;
using Message = spdlog::details::log_msg;

// The event that this thread is writing: a formatter is called in the middle of the logging call.
thread_local std::span<const Field> current_fields;

void put(Line& line, std::string_view text) { line.append(text.data(), text.data() + text.size()); }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// As in a JSON string, which is also readable for people.
void put_escaped(Line& line, char c) {
  switch (c) {
    case '\n': return put(line, "\\n");
    case '\r': return put(line, "\\r");
    case '\t': return put(line, "\\t");
    default: fmt::format_to(std::back_inserter(line), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

void put_quoted(Line& line, std::string_view text) {
  line.push_back('"');
  for (const char c : to_utf8(text)) {
    if (is_control(c)) {
      put_escaped(line, c);
    } else {
      if (c == '"' || c == '\\') line.push_back('\\');
      line.push_back(c);
    }
  }
  line.push_back('"');
}

void put_number(Line& line, double number) {
  if (!std::isfinite(number)) return put(line, "null");
  fmt::format_to(std::back_inserter(line), "{:.3f}", number);
}

// Without a zone: `2031-05-17T09:30:00.123`.
void put_time(Line& line, std::chrono::system_clock::time_point time,
              std::tm* (*calendar)(const std::time_t*, std::tm*)) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto fraction = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds);
  const std::time_t count = std::chrono::system_clock::to_time_t(seconds);
  std::tm day{};
  calendar(&count, &day);
  fmt::format_to(std::back_inserter(line), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}", day.tm_year + 1900,
                 day.tm_mon + 1, day.tm_mday, day.tm_hour, day.tm_min, day.tm_sec, fraction.count());
}

std::string_view level_of(const Message& message) {
  const auto name = spdlog::level::to_string_view(message.level);
  return {name.data(), name.size()};
}

class TextFormatter final : public spdlog::formatter {
 public:
  void format(const Message& message, Line& line) override {
    put_time(line, message.time, ::localtime_r);
    line.push_back(' ');
    message.color_range_start = line.size();
    put(line, level_of(message));
    message.color_range_end = line.size();
    line.push_back(' ');
    for (const char c : std::string_view(message.payload.data(), message.payload.size())) {
      is_control(c) ? put_escaped(line, c) : line.push_back(c);
    }
    for (const Field& field : current_fields) put_field(line, field);
    line.push_back('\n');
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<TextFormatter>(); }

 private:
  static void put_field(Line& line, const Field& field) {
    line.push_back(' ');
    put(line, field.name);
    line.push_back('=');
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      const auto is_plain = [](char c) { return !is_control(c) && c != ' ' && c != '"' && c != '='; };
      const bool plain = !text->empty() && std::ranges::all_of(*text, is_plain);
      plain ? put(line, *text) : put_quoted(line, *text);
    } else if (const auto* whole = std::get_if<std::int64_t>(&field.value)) {
      fmt::format_to(std::back_inserter(line), "{}", *whole);
    } else {
      put_number(line, std::get<double>(field.value));
    }
  }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const Message& message, Line& line) override {
    put(line, "{\"time\":\"");
    put_time(line, message.time, ::gmtime_r);
    put(line, "Z\",\"level\":");
    put_quoted(line, level_of(message));
    put(line, ",\"message\":");
    put_quoted(line, {message.payload.data(), message.payload.size()});
    for (const Field& field : current_fields) put_field(line, field);
    put(line, "}\n");
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  static void put_field(Line& line, const Field& field) {
    line.push_back(',');
    put_quoted(line, field.name);
    line.push_back(':');
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      put_quoted(line, *text);
    } else if (const auto* whole = std::get_if<std::int64_t>(&field.value)) {
      fmt::format_to(std::back_inserter(line), "{}", *whole);
    } else {
      put_number(line, std::get<double>(field.value));
    }
  }
};

class CountingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  CountingSink(std::shared_ptr<spdlog::sinks::sink> into, Clock clock) : into_(std::move(into)), clock_(clock) {}
  ~CountingSink() override { report(RepeatFilter::Due::all); }
  CountingSink(const CountingSink&) = delete;
  CountingSink& operator=(const CountingSink&) = delete;

 protected:
  void sink_it_(const Message& message) override {
    const bool counts = message.level >= spdlog::level::info && current_fields.empty();
    report(RepeatFilter::Due::over);
    if (counts && !filter_.admit(message.level, {message.payload.data(), message.payload.size()}, clock_())) return;
    into_->log(message);
  }
  void flush_() override {
    report(RepeatFilter::Due::over);
    into_->flush();
  }
  void set_pattern_(const std::string& pattern) override { into_->set_pattern(pattern); }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    into_->set_formatter(std::move(formatter));
  }

 private:
  void report(RepeatFilter::Due due) {
    for (const auto& kind : filter_.take(due, clock_())) {
      const std::string text = fmt::format("{} (and {} more like this in {} s)", kind.last, kind.count,
                                           std::max<std::int64_t>(1, kind.over.count()));
      into_->log(Message({}, "cloche", static_cast<Level>(kind.level), text));
    }
  }

  std::shared_ptr<spdlog::sinks::sink> into_;
  Clock clock_;
  RepeatFilter filter_;
};

}  // namespace

void report_repeated() { spdlog::default_logger_raw()->flush(); }

std::shared_ptr<spdlog::sinks::sink> count_repeated(std::shared_ptr<spdlog::sinks::sink> into, Clock clock) {
  return std::make_shared<CountingSink>(std::move(into), clock);
}

std::unique_ptr<spdlog::formatter> make_formatter(Form form) {
  const bool text = form == Form::text || (form == Form::automatic && ::isatty(STDERR_FILENO) != 0);
  if (text) return std::make_unique<TextFormatter>();
  return std::make_unique<JsonFormatter>();
}

void set_up(Level level, Form form) {
  auto sink = count_repeated(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  auto logger = std::make_shared<spdlog::logger>("cloche", std::move(sink));
  logger->set_formatter(make_formatter(form));
  logger->set_level(level);
  spdlog::set_default_logger(std::move(logger));
}

void event(Level level, std::string_view message, std::span<const Field> fields) {
  struct Scope {
    explicit Scope(std::span<const Field> fields) { current_fields = fields; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { current_fields = {}; }
  } const scope(fields);
  spdlog::default_logger_raw()->log(level, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace cloche::log
