#include "agent/egress/dns_answer.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cloche::agent {

namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t longest_dns_label = 63;
constexpr std::size_t longest_name = 253;  // as text
constexpr std::uint16_t type_a = 1;
constexpr std::uint16_t class_internet = 1;
constexpr std::uint32_t time_to_live = 60;

// In the flags of a header.
constexpr std::uint16_t is_response = 0x8000;
constexpr std::uint16_t opcode_mask = 0x7800;
constexpr std::uint16_t recursion_desired = 0x0100;
constexpr std::uint16_t recursion_available = 0x0080;

enum class Code : std::uint16_t { none = 0, malformed = 1, no_such_name = 3, not_supported = 4, refused = 5 };

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

void put16(std::string& out, std::uint16_t number) {
  out += static_cast<char>(number >> 8);
  out += static_cast<char>(number & 0xff);
}

void put32(std::string& out, std::uint32_t number) {
  put16(out, static_cast<std::uint16_t>(number >> 16));
  put16(out, static_cast<std::uint16_t>(number & 0xffff));
}

struct Question {
  std::string name;  // lower case, labels separated by dots
  bool is_host_name = true;
  std::uint16_t type = 0;
  std::uint16_t of_class = 0;
  std::string_view bytes;  // as it was asked
};

bool is_of_host_names(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

// From the first byte after the header. nullopt if it is cut off or malformed; a compressed name is, in a question.
std::optional<Question> parse_question(std::string_view bytes) {
  Question question;
  std::size_t at = 0;
  for (;;) {
    if (at >= bytes.size()) return std::nullopt;
    const auto length = static_cast<unsigned char>(bytes[at]);
    ++at;
    if (length == 0) break;
    if (length > longest_dns_label || bytes.size() - at < length) return std::nullopt;
    if (!question.name.empty()) question.name += '.';
    for (const char c : bytes.substr(at, length)) {
      const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      question.is_host_name = question.is_host_name && is_of_host_names(lower);
      question.name += lower;
    }
    if (question.name.size() > longest_name) return std::nullopt;
    at += length;
  }
  if (bytes.size() - at < 4) return std::nullopt;
  question.type = number_at(bytes, at);
  question.of_class = number_at(bytes, at + 2);
  question.bytes = bytes.substr(0, at + 4);
  return question;
}

bool is_name_or_below(std::string_view name, std::string_view top) {
  if (!name.ends_with(top)) return false;
  return name.size() == top.size() || name[name.size() - top.size() - 1] == '.';
}

bool can_exist(const Question& question) {
  static constexpr std::array never = {"arpa", "localhost", "invalid"};
  return !question.name.empty() && question.is_host_name &&
         std::ranges::none_of(never, [&](const char* top) { return is_name_or_below(question.name, top); });
}

std::string header(std::string_view message, Code code, std::uint16_t questions, std::uint16_t answers) {
  const std::uint16_t asked = number_at(message, 2);
  std::string out(message.substr(0, 2));
  put16(out, static_cast<std::uint16_t>(is_response | (asked & (opcode_mask | recursion_desired)) |
                                        recursion_available | static_cast<std::uint16_t>(code)));
  put16(out, questions);
  put16(out, answers);
  put32(out, 0);  // no other records
  return out;
}

}  // namespace

std::string answer_dns(std::string_view message, const AddressOf& address_of) {
  if (message.size() < header_size || message.size() > most_dns_bytes) return {};
  const std::uint16_t flags = number_at(message, 2);
  if ((flags & is_response) != 0) return {};
  if ((flags & opcode_mask) != 0) return header(message, Code::not_supported, 0, 0);
  if (number_at(message, 4) != 1) return header(message, Code::malformed, 0, 0);
  const auto question = parse_question(message.substr(header_size));
  if (!question) return header(message, Code::malformed, 0, 0);

  const auto without_answer = [&](Code code) { return header(message, code, 1, 0).append(question->bytes); };
  if (question->of_class != class_internet) return without_answer(Code::refused);
  if (!can_exist(*question)) return without_answer(Code::no_such_name);
  if (question->type != type_a) return without_answer(Code::none);
  std::string answer = header(message, Code::none, 1, 1).append(question->bytes);
  put16(answer, 0xc000 | header_size);  // the name of the question
  put16(answer, type_a);
  put16(answer, class_internet);
  put32(answer, time_to_live);
  put16(answer, 4);
  put32(answer, address_of(question->name));
  return answer;
}

}  // namespace cloche::agent
