#include "agent/egress/dns_answer.hpp"

#include <gtest/gtest.h>

namespace cloche::agent {
namespace {

using namespace std::string_literals;

constexpr std::uint16_t a = 1;
constexpr std::uint16_t aaaa = 28;
constexpr std::uint16_t https = 65;

std::string labels(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const auto dot = name.find('.');
    const auto label = name.substr(0, dot);
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(dot == name.npos ? name.size() : dot + 1);
  }
  return out + '\0';
}

std::string question(std::string_view name, std::uint16_t type, std::uint16_t of_class = 1) {
  return labels(name) + static_cast<char>(type >> 8) + static_cast<char>(type) + static_cast<char>(of_class >> 8) +
         static_cast<char>(of_class);
}

// Id 0x1234, recursion desired, one question.
const std::string header = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s;

struct Asked {
  std::string answer;
  std::string name;  // whose address was asked for
};

Asked ask(const std::string& message) {
  Asked asked;
  asked.answer = answer_dns(message, [&](std::string_view name) {
    asked.name = name;
    return 0xC612'0007u;
  });
  return asked;
}

int code_of(const std::string& answer) { return answer.size() < 12 ? -1 : answer[3] & 0x0f; }
int answers_in(const std::string& answer) { return answer.size() < 12 ? -1 : answer[7]; }

TEST(DnsAnswer, QuestionForAnAddress_IsAnsweredWithOne) {
  const auto asked = ask(header + question("Example.TEST", a));
  EXPECT_EQ(asked.name, "example.test");
  const std::string expected = "\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"s + question("Example.TEST", a) +
                               "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x07"s;
  EXPECT_EQ(asked.answer, expected) << "the question is repeated as it was asked";
}

TEST(DnsAnswer, FurtherRecordsOfTheQuestioner_AreIgnored) {
  std::string with_options = header + question("example.test", a) + "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"s;
  with_options[11] = 1;
  EXPECT_EQ(ask(with_options).answer, ask(header + question("example.test", a)).answer);
}

TEST(DnsAnswer, QuestionForAnotherRecord_HasAnEmptyAnswer) {
  for (const auto type : {aaaa, https, std::uint16_t{255}}) {
    const auto asked = ask(header + question("example.test", type));
    EXPECT_EQ(code_of(asked.answer), 0) << type;
    EXPECT_EQ(answers_in(asked.answer), 0) << type;
    EXPECT_EQ(asked.name, "");
  }
}

TEST(DnsAnswer, NameThatCannotBeAHosts_DoesNotExist) {
  for (const auto& name : {"localhost"s, "a.localhost"s, "1.0.0.127.in-addr.arpa"s, "x.invalid"s, ""s, "a b.test"s,
                           "a\0b.test"s, "caf\xc3\xa9.test"s}) {
    const auto asked = ask(header + question(name, a));
    EXPECT_EQ(code_of(asked.answer), 3) << name;
    EXPECT_EQ(answers_in(asked.answer), 0) << name;
    EXPECT_EQ(asked.name, "") << name;
  }
  EXPECT_EQ(ask(header + question("notlocalhost", a)).name, "notlocalhost");
  // A dot within a label is no border of labels.
  EXPECT_EQ(code_of(ask(header + "\x03"
                                 "a.b\x04test\x00\x00\x01\x00\x01"s)
                        .answer),
            3);
}

TEST(DnsAnswer, LongestName_IsAnsweredAndALongerOneIsMalformed) {
  const std::string label(63, 'l');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'l');
  EXPECT_EQ(ask(header + question(longest, a)).name, longest);
  EXPECT_EQ(code_of(ask(header + question(longest + "l", a)).answer), 1);
}

TEST(DnsAnswer, MalformedQuestion_IsSaidToBe) {
  const std::string good = header + question("example.test", a);
  for (std::size_t size = 12; size < good.size(); ++size)
    EXPECT_EQ(code_of(ask(good.substr(0, size)).answer), 1) << size;
  EXPECT_EQ(code_of(ask(header + "\xc0\x0c\x00\x01\x00\x01"s).answer), 1) << "a pointer to itself";
  EXPECT_EQ(code_of(ask(header + std::string(64, '\x40')).answer), 1) << "a label that is too long";
  std::string two = good;
  two[5] = 2;
  EXPECT_EQ(code_of(ask(two).answer), 1);
}

TEST(DnsAnswer, OtherOperationOrClass_IsRejected) {
  std::string update = header + question("example.test", a);
  update[2] = 0x28;
  EXPECT_EQ(code_of(ask(update).answer), 4);
  EXPECT_EQ(code_of(ask(header + question("version.bind", 16, 3)).answer), 5);
}

TEST(DnsAnswer, ResponseOrNoMessage_HasNoAnswer) {
  std::string response = header + question("example.test", a);
  response[2] = static_cast<char>(0x81);
  EXPECT_EQ(ask(response).answer, "") << "two servers would answer each other without end";
  EXPECT_EQ(ask("").answer, "");
  EXPECT_EQ(ask(header.substr(0, 11)).answer, "");
  EXPECT_EQ(ask(std::string(most_dns_bytes + 1, '\0')).answer, "");
}

}  // namespace
}  // namespace cloche::agent
