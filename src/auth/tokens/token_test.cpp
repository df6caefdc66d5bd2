// Cloche's own tokens: their text, their records, their file.
#include "auth/tokens/token.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "auth/testing/scratch.hpp"
#include "auth/tokens/token_file.hpp"
#include "auth/tokens/token_table.hpp"

namespace cloche::auth {
namespace {

using testing::file_text;
using testing::HandClock;
using testing::put_file;
using testing::ScratchDir;
using namespace std::chrono_literals;

const std::string some_id = "0123456789abcdef";
const std::string some_hash(64, 'a');

// One entry, with a member replaced (or put there).
std::string entry(std::string_view name = "", std::string_view json = "") {
  std::vector<std::pair<std::string, std::string>> members = {{"id", '"' + some_id + '"'},
                                                              {"sha256", '"' + some_hash + '"'},
                                                              {"tenant", "\"acme\""},
                                                              {"role", "\"user\""},
                                                              {"created", "\"2030-03-17T17:46:40Z\""}};
  if (!name.empty()) {
    const auto found = std::ranges::find(members, name, [](const auto& member) { return member.first; });
    if (found == members.end()) {
      members.emplace_back(name, json);
    } else if (json.empty()) {
      members.erase(found);
    } else {
      found->second = json;
    }
  }
  std::string text;
  for (const auto& [key, value] : members) {
    text.append(text.empty() ? "{\"" : ",\"").append(key).append("\":").append(value);
  }
  return text + "}";
}

std::string file_of(const std::string& entries) { return R"({"version":1,"tokens":[)" + entries + "]}"; }

TEST(Token, MadeTokens_DifferAndReadBack) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const Token token = make_token();
    EXPECT_TRUE(seen.insert(token.id).second);
    EXPECT_TRUE(seen.insert(token.secret).second);
    const auto read = parse_token(token.text());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, token.id);
    EXPECT_EQ(read->secret, token.secret);
    EXPECT_EQ(token.secret.size() * 4, 256U);
  }
}

TEST(Token, BothSpellings_AreTheSameToken) {
  const Token token = make_token();
  EXPECT_EQ(token.e2b_key().size(), 4U + 80U);
  const auto read = parse_token(token.e2b_key());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, token.id);
  EXPECT_EQ(read->secret, token.secret);
  const std::string good = "e2b_" + some_id + some_hash;
  ASSERT_TRUE(parse_token(good));
  for (const std::string& text :
       {good + "a", good.substr(0, good.size() - 1), "e2b_" + some_id + "_" + some_hash, "e2b_" + std::string(40, '0'),
        "cloche_" + some_id + some_hash, "E2B" + good.substr(3)}) {
    EXPECT_FALSE(parse_token(text)) << text;
  }
}

TEST(TokenTable, TokenById_EndsWithIt) {
  const WallTime expiry{1000s};
  const TokenTable book({{.id = some_id, .tenant = "acme", .expires = expiry}});
  EXPECT_EQ(book.principal_of(some_id, expiry - 1s)->tenant, "acme");
  EXPECT_EQ(book.principal_of(some_id, expiry).error().reason, Reason::expired);
  EXPECT_EQ(book.principal_of("0000000000000000", expiry).error().reason, Reason::unknown);
}

TEST(Token, OtherForms_AreNone) {
  const std::string good = "cloche_" + some_id + "_" + some_hash;
  ASSERT_TRUE(parse_token(good));
  std::string upper = good;
  upper.back() = 'A';
  const std::vector<std::string> others = {"",
                                           "cloche_",
                                           good + "a",
                                           good.substr(0, good.size() - 1),
                                           " " + good,
                                           good + "\n",
                                           "Cloche_" + some_id + "_" + some_hash,
                                           "cloche_" + some_id + "-" + some_hash,
                                           upper,
                                           "cloche_" + some_id.substr(1) + "_" + some_hash + "a",
                                           "cloche__" + some_hash};
  for (const std::string& text : others) EXPECT_FALSE(parse_token(text)) << text;
}

TEST(TokenRecords, WhatWasWritten_IsReadBack) {
  std::vector<TokenRecord> records;
  EXPECT_EQ(*parse_token_records(write_token_records(records)), records);
  for (int i = 0; i < 3; ++i) {
    const Token token = make_token();
    records.push_back({.id = token.id,
                       .sha256 = sha256(token.secret),
                       .tenant = "t-" + std::to_string(i),
                       .role = i == 1 ? Role::admin : Role::user,
                       .created = WallTime{std::chrono::seconds{1'900'000'000 + i}},
                       .expires = {},
                       .note = i == 2 ? "Zoë's \"ci\" \\" : ""});
  }
  records[0].expires = WallTime{std::chrono::seconds{2'000'000'000}};
  const std::string text = write_token_records(records);
  EXPECT_EQ(*parse_token_records(text), records);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5) << "a line a token:\n" << text;
}

TEST(TokenRecords, DamagedText_IsAnErrorAsAWhole) {
  ASSERT_TRUE(parse_token_records(file_of(entry())));
  std::string cut = write_token_records(*parse_token_records(file_of(entry())));
  for (std::size_t size = 0; size + 1 < cut.size(); ++size) {
    EXPECT_FALSE(parse_token_records(cut.substr(0, size))) << size;
  }
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), std::string(R"({"version":1})"), std::string(R"({"tokens":[]})"),
        std::string(R"({"version":2,"tokens":[]})"), std::string(R"({"version":"1","tokens":[]})"),
        std::string(R"({"version":1,"tokens":{}})"), std::string(R"({"version":1,"tokens":[],"allow":"all"})"),
        std::string(R"({"version":1,"tokens":[],"tokens":[]})"), file_of("1"), file_of("null"), file_of("[]"),
        file_of(entry() + "," + entry()), std::string(cut.size(), '\0')}) {
    const auto read = parse_token_records(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("damaged token file"), std::string::npos) << read.error().message;
  }
}

TEST(TokenRecords, BadMember_IsNamed) {
  const std::pair<const char*, const char*> cases[] = {{"id", "\"0123\""},
                                                       {"id", "\"0123456789ABCDEF\""},
                                                       {"id", ""},
                                                       {"id", "1"},
                                                       {"sha256", "\"\""},
                                                       {"sha256", ""},
                                                       {"tenant", "\"..\""},
                                                       {"tenant", ""},
                                                       {"tenant", "null"},
                                                       {"tenant", "[\"a\"]"},
                                                       {"role", "\"root\""},
                                                       {"role", ""},
                                                       {"role", "\"Admin\""},
                                                       {"created", "\"yesterday\""},
                                                       {"created", "1900000000"},
                                                       {"expires", "\"never\""},
                                                       {"expires", "null"},
                                                       {"note", "\"a\\nb\""},
                                                       {"note", "7"}};
  for (const auto& [name, json] : cases) {
    const auto read = parse_token_records(file_of(entry(name, json)));
    ASSERT_FALSE(read) << name << json;
    EXPECT_NE(read.error().message.find("token 1: "), std::string::npos);
    EXPECT_NE(read.error().message.find(std::string("`") + name), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(parse_token_records(file_of(entry("rights", "\"all\""))));
  EXPECT_FALSE(parse_token_records(file_of(entry("note", '"' + std::string(201, 'x') + '"'))));
}

TEST(TokenRecords, TooManyTokens_IsRefused) {
  std::string entries;
  for (std::size_t i = 0; i <= most_tokens; ++i) entries += i == 0 ? "0" : ",0";
  EXPECT_NE(parse_token_records(file_of(entries)).error().message.find("more than"), std::string::npos);
}

struct TokenFileTest : ::testing::Test {
  ScratchDir dir;
  HandClock clock;
  std::string path = dir / "tokens.json";
  TokenFile file{path, clock.clocks()};
};

TEST_F(TokenFileTest, CreatedToken_IsShownOnceAndKeptAsHash) {
  const auto made = file.create({.tenant = "acme", .role = Role::admin, .expires = clock.wall + 1h, .note = "ci"});
  ASSERT_TRUE(made) << made.error().message;
  const auto token = parse_token(made->text);
  ASSERT_TRUE(token);
  EXPECT_EQ(token->id, made->record.id);
  const std::string text = file_text(path);
  EXPECT_EQ(text.find(token->secret), text.npos);
  EXPECT_NE(text.find(token->id), text.npos);
  EXPECT_EQ(stamp_of(path, Links::refused)->mode & 07777, 0600U);
  const auto list = file.list();
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, std::vector{made->record});
  EXPECT_EQ(list->front().created, clock.wall);
  EXPECT_EQ(list->front().sha256, sha256(token->secret));
}

TEST_F(TokenFileTest, BadRequest_MakesNothing) {
  for (const TokenRequest& request :
       {TokenRequest{.tenant = ""}, TokenRequest{.tenant = "a/b"}, TokenRequest{.tenant = "a", .expires = clock.wall},
        TokenRequest{.tenant = "a", .expires = WallTime::max()}, TokenRequest{.tenant = "a", .note = "a\nb"},
        TokenRequest{.tenant = "a", .note = "\xff"}, TokenRequest{.tenant = "a", .note = std::string(201, 'x')}}) {
    EXPECT_EQ(file.create(request).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TokenFileTest, RevokedToken_IsGone) {
  const auto first = file.create({.tenant = "a"});
  const auto second = file.create({.tenant = "b"});
  ASSERT_TRUE(second);
  EXPECT_EQ(file.revoke(first->record.id)->tenant, "a");
  EXPECT_EQ(*file.list(), std::vector{second->record});
  EXPECT_EQ(file.revoke(first->record.id).error().code, ErrorCode::not_found);
  EXPECT_EQ(file.revoke("").error().code, ErrorCode::not_found);
}

TEST_F(TokenFileTest, NoFile_IsNotFoundAndNoneIsMadeByAsking) {
  EXPECT_EQ(file.list().error().code, ErrorCode::not_found);
  EXPECT_EQ(file.revoke(some_id).error().code, ErrorCode::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
}

TEST_F(TokenFileTest, FirstToken_IsMadeOnceEvenIfAllAreRevoked) {
  const auto first = file.create_first({.tenant = "default", .role = Role::admin});
  ASSERT_TRUE(first && *first);
  EXPECT_FALSE(file.create_first({.tenant = "default"})->has_value());
  ASSERT_TRUE(file.revoke((*first)->record.id));
  EXPECT_FALSE(file.create_first({.tenant = "default"})->has_value());
  EXPECT_TRUE(file.list()->empty());
}

TEST_F(TokenFileTest, DamagedOrOpenFile_IsNeverOverwritten) {
  put_file(path, "{\"version\":1,");
  EXPECT_EQ(file.create({.tenant = "a"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(file_text(path), "{\"version\":1,");
  EXPECT_FALSE(file.create_first({.tenant = "a"})->has_value());
  put_file(path, "");
  EXPECT_FALSE(file.create({.tenant = "a"}));
  put_file(path, file_of(""), 0644);
  EXPECT_EQ(file.create({.tenant = "a"}).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(file.list().error().code, ErrorCode::permission_denied);
}

TEST_F(TokenFileTest, ManyWritersAtOnce_LoseNothing) {
  constexpr int writers = 8;
  constexpr int each = 5;
  std::vector<std::thread> threads;
  threads.reserve(writers);
  for (int w = 0; w < writers; ++w) {
    // Each its own object and lock descriptor, as separate processes have.
    threads.emplace_back([this] {
      TokenFile own(path, clock.clocks());
      for (int i = 0; i < each; ++i) {
        const auto made = own.create({.tenant = "a"});
        ASSERT_TRUE(made) << made.error().message;
        if (i == 0) {
          ASSERT_TRUE(own.revoke(made->record.id));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file.list()->size(), static_cast<std::size_t>(writers * (each - 1)));
}

TEST_F(TokenFileTest, ReaderBesideAWriter_NeverSeesAHalfFile) {
  ASSERT_TRUE(file.create({.tenant = "a"}));
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(TokenFile(path, clock.clocks()).create({.tenant = "a"}));
    done = true;
  });
  while (!done) {
    const auto list = file.list();
    EXPECT_TRUE(list) << list.error().message;
  }
  writer.join();
}

TEST(TokenTable, UnknownIdAndWrongSecret_AreTheSame) {
  const Token token = make_token();
  const TokenTable book({{.id = token.id, .sha256 = sha256(token.secret), .tenant = "acme", .role = Role::admin}});
  const WallTime now{1000s};
  EXPECT_EQ(*book.check(token, now), (Principal{"acme", Role::admin, token.id}));
  const auto wrong_secret = book.check({token.id, make_token().secret}, now).error();
  const auto unknown_id = book.check({make_token().id, token.secret}, now).error();
  EXPECT_EQ(wrong_secret.reason, Reason::unknown);
  EXPECT_EQ(unknown_id.reason, wrong_secret.reason);
  EXPECT_EQ(unknown_id.message, wrong_secret.message);
  EXPECT_EQ(unknown_id.detail, wrong_secret.detail);
}

TEST(TokenTable, SecretWhoseHashIsZeros_IsNotNobodys) {
  // The record that is used for an unknown id must not accept any secret, whatever its hash is.
  EXPECT_EQ(TokenTable({}).check(make_token(), {}).error().reason, Reason::unknown);
}

TEST(TokenTable, ExpiredToken_IsSaidOnlyToItsOwner) {
  const Token token = make_token();
  const WallTime expiry{1000s};
  const TokenTable book({{.id = token.id, .sha256 = sha256(token.secret), .tenant = "acme", .expires = expiry}});
  EXPECT_TRUE(book.check(token, expiry - 1s));
  EXPECT_EQ(book.check(token, expiry).error().reason, Reason::expired);
  EXPECT_EQ(book.check({token.id, make_token().secret}, expiry).error().reason, Reason::unknown);
}

}  // namespace
}  // namespace cloche::auth
