#include "egress/secrets/redactor.hpp"

#include <gtest/gtest.h>

#include "core/base64.hpp"
#include "core/text.hpp"
#include "egress/secrets/secret_encodings.hpp"

namespace cloche::egress {
namespace {

// With a character of each kind that some encoding changes.
const std::string odd_secret = "k3y-/+\"\\<&>' \xc3\xa9\xf0\x9f\x94\x91~_end";
const std::string plain_secret = "sk-abcdefghijklmnop0123456789";

Redactor redactor_of(const std::vector<std::string>& secrets) {
  std::vector<std::shared_ptr<const PatternFinder>> finders;
  for (const std::string& each : secrets) finders.push_back(std::make_shared<const PatternFinder>(encodings_of(each)));
  return Redactor(finders);
}

std::string marks(std::size_t count) { return std::string(count, Redactor::mark); }

TEST(Redactor, EveryEncodingAtEverySplit_IsOverwritten) {
  for (const std::string& secret : {plain_secret, odd_secret, std::string("12345678"), std::string("aaaaaaaa")}) {
    Redactor redactor = redactor_of({secret});
    for (const std::string& form : encodings_of(secret)) {
      const std::string text = "before " + form + "\" after";
      const std::string expected = "before " + marks(form.size()) + "\" after";
      for (std::size_t first = 0; first <= text.size(); ++first) {
        for (const std::size_t second : {first, std::min(first + 1, text.size()), text.size()}) {
          const std::string_view view = text;
          std::string out = redactor.feed(view.substr(0, first));
          EXPECT_EQ(out.find(form), std::string::npos);
          out += redactor.feed(view.substr(first, second - first));
          out += redactor.feed(view.substr(second));
          out += redactor.finish();
          ASSERT_EQ(out, expected) << form << " at " << first;
        }
      }
    }
  }
}

TEST(Redactor, ByteByByte_GivesTheSame) {
  Redactor redactor = redactor_of({odd_secret});
  for (const std::string& form : encodings_of(odd_secret)) {
    std::string out;
    for (const char c : "x" + form + form + "y") out += redactor.feed(std::string_view(&c, 1));
    out += redactor.finish();
    EXPECT_EQ(out, "x" + marks(2 * form.size()) + "y") << form;
  }
}

TEST(Redactor, Base64AmongOtherBytes_IsOverwritten) {
  Redactor redactor = redactor_of({plain_secret});
  for (std::size_t before = 0; before < 7; ++before) {
    for (std::size_t after = 0; after < 7; ++after) {
      const std::string inner = std::string(before, 'u') + plain_secret + std::string(after, 'v');
      const std::string encoded = encode_base64(inner);
      const std::string out = redactor.whole("Basic " + encoded + "\r\n");
      // At most one character at each end also has bits of other bytes.
      EXPECT_GE(std::ranges::count(out, Redactor::mark), static_cast<long>(plain_secret.size() * 8 / 6 - 1));
      EXPECT_EQ(out.size(), encoded.size() + 8);
      const std::string url = redactor.whole(encode_base64url(inner));
      EXPECT_GE(std::ranges::count(url, Redactor::mark), static_cast<long>(plain_secret.size() * 8 / 6 - 1));
    }
  }
}

TEST(Redactor, WhatCommonLibrariesWrite_IsKnown) {
  const std::vector<std::string> forms = encodings_of(odd_secret);
  const auto has = [&](const std::string& form) { return std::ranges::find(forms, form) != forms.end(); };
  EXPECT_TRUE(has(odd_secret));
  EXPECT_TRUE(has(encode_base64(odd_secret).substr(0, 8 * odd_secret.size() / 6)));
  EXPECT_TRUE(has(to_hex(odd_secret)));
  // Python: json.dumps, urllib.parse.quote, quote_plus, html.escape; JavaScript: JSON.stringify, encodeURIComponent.
  EXPECT_TRUE(has("k3y-/+\\\"\\\\<&>' \\u00e9\\ud83d\\udd11~_end"));
  EXPECT_TRUE(has("k3y-/%2B%22%5C%3C%26%3E%27%20%C3%A9%F0%9F%94%91~_end"));
  EXPECT_TRUE(has("k3y-%2F%2B%22%5C%3C%26%3E%27+%C3%A9%F0%9F%94%91~_end"));
  EXPECT_TRUE(has("k3y-/+&quot;\\&lt;&amp;&gt;&#x27; \xc3\xa9\xf0\x9f\x94\x91~_end"));
  EXPECT_TRUE(has("k3y-/+\\\"\\\\<&>' \xc3\xa9\xf0\x9f\x94\x91~_end"));
  EXPECT_TRUE(has("k3y-%2F%2B%22%5C%3C%26%3E'%20%C3%A9%F0%9F%94%91~_end"));
  // PHP: json_encode; Go: json.Marshal.
  EXPECT_TRUE(has("k3y-\\/+\\\"\\\\<&>' \\u00e9\\ud83d\\udd11~_end"));
  EXPECT_TRUE(has("k3y-/+\\\"\\\\\\u003c\\u0026\\u003e' \xc3\xa9\xf0\x9f\x94\x91~_end"));
}

TEST(Redactor, TextWithoutTheSecret_IsNotChanged) {
  Redactor redactor = redactor_of({plain_secret});
  const std::string text = "sk-abc sk-abcdefghijklmnop012345678 sk-sk-abcdefgh " + to_hex(plain_secret).substr(1);
  EXPECT_EQ(redactor.whole(text), text);
}

TEST(Redactor, WhatCannotBecomeTheSecret_IsReturnedAtOnce) {
  Redactor redactor = redactor_of({plain_secret});
  EXPECT_EQ(redactor.feed("data: hello\n\n"), "data: hello\n\n");
  EXPECT_EQ(redactor.feed("x sk-abc"), "x ");
  EXPECT_EQ(redactor.feed("!"), "sk-abc!");
  EXPECT_EQ(redactor.finish(), "");
}

TEST(Redactor, FalseStart_IsFoundBehindIt) {
  Redactor redactor = redactor_of({"aaaaaaab"});
  EXPECT_EQ(redactor.whole("aaaaaaaaab"), "aa" + marks(8));
  Redactor other = redactor_of({"abcabcabd"});
  EXPECT_EQ(other.whole("abcabcabcabd"), "abc" + marks(9));
}

TEST(Redactor, SeveralSecrets_AreAllOverwritten) {
  Redactor redactor = redactor_of({"first-secret", "second-secret", "secret-second"});
  EXPECT_EQ(redactor.whole("first-secret second-secret, secret-second!"),
            marks(12) + " " + marks(13) + ", " + marks(13) + "!");
  std::string out;
  for (const char c : std::string("first-secretsecond-secret")) out += redactor.feed(std::string_view(&c, 1));
  out += redactor.finish();
  EXPECT_EQ(out, marks(25));
}

TEST(Redactor, NoSecret_ChangesNothing) {
  Redactor redactor = redactor_of({});
  EXPECT_EQ(redactor.feed("anything"), "anything");
  EXPECT_EQ(redactor.finish(), "");
}

TEST(Redactor, LongSecret_IsFoundInABigText) {
  std::string secret;
  for (int i = 0; secret.size() < 8192; ++i) secret += std::to_string(i * 7919) + "/";
  Redactor redactor = redactor_of({secret});
  const std::string filler(1 << 20, '7');
  EXPECT_EQ(redactor.whole(filler + secret + filler), filler + marks(secret.size()) + filler);
}

// A server can always change what it received. This says what is not promised.
TEST(Redactor, ReversedOrSplitSecret_IsNotFound) {
  Redactor redactor = redactor_of({plain_secret});
  const std::string reversed(plain_secret.rbegin(), plain_secret.rend());
  EXPECT_EQ(redactor.whole(reversed), reversed);
  const std::string split = plain_secret.substr(0, 10) + "-" + plain_secret.substr(10);
  EXPECT_EQ(redactor.whole(split), split);
}

}  // namespace
}  // namespace cloche::egress
