#include "context/command.hpp"

#include <algorithm>
#include <cstdio>

#include "context/driver_reader.hpp"
#include "core/bytes.hpp"

namespace cloche {

namespace {

constexpr Bytes longest_command = mib(1);
constexpr Bytes longest_input = mib(16);
constexpr std::chrono::hours longest_run{24};
constexpr std::size_t most_jobs = 256;

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == text.npos;
}

// "16493.38" is 1649338; anything else is 0, the beginning of all time.
std::string hundredths(std::string_view uptime) {
  const auto point = uptime.find('.');
  if (point == uptime.npos || uptime.size() - point != 3) return "0";
  std::string digits = std::string(uptime.substr(0, point)) + std::string(uptime.substr(point + 1));
  return is_digits(digits) ? digits : "0";
}

// A line of `jobs -l`: "[1]-  4477 Running  sleep 3", or for the further processes of a pipeline "      4478  | cat".
std::optional<std::uint32_t> pid_in(std::string_view line) {
  for (;;) {
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos) return std::nullopt;
    line.remove_prefix(start);
    const auto word = line.substr(0, line.find(' '));
    if (!word.starts_with('[') && word != "+" && word != "-") return parse_number(word);
    line.remove_prefix(word.size());
  }
}

}  // namespace

Status validate(const CommandRequest& request) {
  if (request.command.size() > longest_command.count) {
    return fail(ErrorCode::invalid_argument, "a command must have at most " + to_string(longest_command));
  }
  if (request.command.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the command contains a NUL byte");
  }
  if (request.input.size() > longest_input.count) {
    return fail(ErrorCode::invalid_argument, "a command's input must have at most " + to_string(longest_input));
  }
  if (request.wall_limit.count() <= 0 || request.wall_limit > longest_run) {
    return fail(ErrorCode::invalid_argument, "a command's time limit must be from 1 ms to 24 h");
  }
  return {};
}

std::string to_driver_line(const std::string& id, std::string_view input, std::string_view command) {
  std::string line = "run " + id + " ";
  line.append(input.empty() ? "-" : input).append(" ");
  line.reserve(line.size() + command.size() + 16);
  for (const char c : command) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && byte != '\\') {
      line += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\0%03o", static_cast<unsigned>(byte));
    line += escaped;
  }
  return line + "\n";
}

CommandBegin parse_begin(std::string_view rest) {
  CommandBegin begin;
  const auto blank = rest.find(' ');
  begin.mark = hundredths(rest.substr(0, blank));
  if (blank == rest.npos) return begin;
  rest.remove_prefix(blank + 1);
  while (!rest.empty() && begin.jobs.size() < most_jobs) {
    const auto end = rest.find('\n');
    if (const auto pid = pid_in(rest.substr(0, end))) begin.jobs.push_back(*pid);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return begin;
}

std::optional<CommandEnd> parse_end(std::string_view rest) {
  const auto blank = rest.find(' ');
  const auto status = parse_number(rest.substr(0, blank));
  if (!status || *status > 255) return std::nullopt;
  CommandEnd end;
  end.exit_code = static_cast<int>(*status);
  if (blank != rest.npos) end.directory = std::string(rest.substr(blank + 1));
  return end;
}

}  // namespace cloche
