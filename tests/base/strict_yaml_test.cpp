#include "core/base/strict_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/base/error_of.h"

namespace epiphyte::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

YamlNode Parse(std::string_view text) { return ParseStrictYaml(text, "f.yaml"); }

std::string Refused(std::string_view text) {
  return test::ErrorOf(StatusCode::kInvalidArgument, [&] { Parse(text); });
}

std::string Repeated(std::string_view unit, size_t count) {
  std::string text;
  while (count-- > 0) text += unit;
  return text;
}

TEST(StrictYaml, ReadsMapsListsAndScalarsInFileOrder) {
  const YamlNode root = Parse("b: text\na: [x, y]\nc:\n  - 1\n  - {k: v}\nd:\n");
  ASSERT_EQ(root.kind, YamlNode::Kind::kMap);
  ASSERT_EQ(root.fields.size(), 4u);
  EXPECT_EQ(root.fields[0].first, "b");
  EXPECT_EQ(root.Required("b").AsString(), "text");
  EXPECT_THAT(root.Required("a").AsStringList(), ElementsAre("x", "y"));
  EXPECT_EQ(root.Required("c").items[1].Required("k").AsString(), "v");
  EXPECT_EQ(root.Required("d").kind, YamlNode::Kind::kNull);
  EXPECT_EQ(root.Find("e"), nullptr);
}

TEST(StrictYaml, KnowsWhereEverythingIs) {
  const YamlNode root = Parse("a: 1\nlonger:\n  - x\n");
  EXPECT_EQ(root.where, "f.yaml:1:1");
  EXPECT_EQ(root.Required("a").where, "f.yaml:1:4");
  EXPECT_EQ(root.Required("longer").items[0].where, "f.yaml:3:5");
}

TEST(StrictYaml, StringsStayAsTheyAreSpelled) {
  const YamlNode root = Parse("version: 1.10\nno: no\nnumber: 007\nhex: 0x1F\n");
  EXPECT_EQ(root.Required("version").AsString(), "1.10");
  EXPECT_EQ(root.Required("no").AsString(), "no");
  EXPECT_EQ(root.Required("number").AsString(), "007");
  EXPECT_EQ(root.Required("hex").AsString(), "0x1F");
}

TEST(StrictYaml, IntegersAreDecimalAndInRange) {
  const YamlNode root = Parse("[12, -3, 9223372036854775807, 9223372036854775808, 1.5, '7', x, 0x10, ~, []]");
  EXPECT_EQ(root.items[0].AsInt(), 12);
  EXPECT_EQ(root.items[1].AsInt(), -3);
  EXPECT_EQ(root.items[2].AsInt(), INT64_MAX);
  for (size_t i = 3; i < root.items.size(); ++i) {
    const std::string message =
        test::ErrorOf(StatusCode::kInvalidArgument, [&] { static_cast<void>(root.items[i].AsInt()); });
    EXPECT_THAT(message, HasSubstr("an integer expected"));
    EXPECT_THAT(message, StartsWith("f.yaml:1:"));
  }
}

TEST(StrictYaml, BooleansAreTrueAndFalseAlone) {
  const YamlNode root = Parse("[true, false, yes, 'true', 1]");
  EXPECT_TRUE(root.items[0].AsBool());
  EXPECT_FALSE(root.items[1].AsBool());
  for (size_t i = 2; i < root.items.size(); ++i) {
    EXPECT_THAT(test::ErrorOf(StatusCode::kInvalidArgument, [&] { static_cast<void>(root.items[i].AsBool()); }),
                HasSubstr("true or false expected"));
  }
}

TEST(StrictYaml, WrongTypesAreRefusedWithWhatWasFound) {
  const YamlNode root = Parse("list: [a, [b]]\nmap: {a: b}\ntext: x\n");
  const auto refuse = [](auto call) { return test::ErrorOf(StatusCode::kInvalidArgument, call); };
  EXPECT_EQ(refuse([&] { static_cast<void>(root.Required("map").AsString()); }),
            "f.yaml:2:6: a map found, a string expected");
  EXPECT_THAT(refuse([&] { static_cast<void>(root.Required("text").AsStringList()); }), HasSubstr("'x' found, a list"));
  EXPECT_THAT(refuse([&] { static_cast<void>(root.Required("list").AsStringList()); }), HasSubstr("a list found"));
  EXPECT_EQ(refuse([&] { root.Required("other"); }), "f.yaml:1:1: key 'other' is missing");
  EXPECT_THAT(refuse([&] { root.Required("text").Required("x"); }), HasSubstr("a map with the key 'x' expected"));
}

TEST(StrictYaml, AnEmptyFileIsNothing) {
  for (const std::string_view text : {"", "\n\n", "# only a comment\n", "---\n"}) {
    const YamlNode root = Parse(text);
    EXPECT_EQ(root.kind, YamlNode::Kind::kNull);
    EXPECT_THAT(root.where, StartsWith("f.yaml:"));
  }
}

TEST(StrictYaml, ByteOrderMarkAndAnyLineEndAreFine) {
  const YamlNode root = Parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 'x'\r\nc: |\r\n  l1\r\n  l2\r\n");
  EXPECT_EQ(root.where, "f.yaml:1:1");
  EXPECT_EQ(root.Required("a").AsInt(), 1);
  EXPECT_EQ(root.Required("b").AsString(), "x");
  EXPECT_EQ(root.Required("c").AsString(), "l1\nl2\n");
  EXPECT_EQ(Parse("a: 1\rb: 2\r").Required("b").where, "f.yaml:2:4");
}

TEST(StrictYaml, JsonIsYaml) {
  const YamlNode root = Parse(R"({"name": "cpu", "sources": ["A"], "priority": 3})");
  EXPECT_EQ(root.Required("name").AsString(), "cpu");
  EXPECT_EQ(root.Required("priority").AsInt(), 3);
}

TEST(StrictYaml, RefusesWhatMakesYamlUnpredictable) {
  EXPECT_THAT(Refused("a: &x 1\n"), HasSubstr("f.yaml:1:4: anchors"));
  EXPECT_THAT(Refused("a: &x [1]\nb: *x\n"), HasSubstr("anchors"));
  EXPECT_THAT(Refused("a: !!str 1\n"), HasSubstr("tags"));
  EXPECT_THAT(Refused("a: ! x\n"), HasSubstr("tags"));
  EXPECT_THAT(Refused("b: \xC3\xA9\na: ! \"x\"\n"), HasSubstr("f.yaml:2:4: tags"));
  EXPECT_THAT(Refused("!x {a: 1}\n"), HasSubstr("tags"));
  EXPECT_THAT(Refused("<<: {a: 1}\n"), HasSubstr("merge keys"));
  EXPECT_THAT(Refused("a: 1\na: 2\n"), HasSubstr("f.yaml:2:1: key 'a' found twice"));
  EXPECT_THAT(Refused("a: {b: 1, b: 2}\n"), HasSubstr("found twice"));
  EXPECT_THAT(Refused("a: 1\n---\nb: 2\n"), HasSubstr("second document"));
  EXPECT_THAT(Refused("[a, b]: c\n"), HasSubstr("a key that is no name"));
  EXPECT_THAT(Refused("~: c\n"), HasSubstr("a key that is no name"));
}

TEST(StrictYaml, AQuotedMergeSignIsAnOrdinaryKey) { EXPECT_EQ(Parse("\"<<\": 1\n").Required("<<").AsInt(), 1); }

TEST(StrictYaml, RefusesWhatIsNoYaml) {
  for (const std::string_view text : {"a: [1, 2", "a: 'x", "a: b: c", "}", "a: @x", "%YAML 9.9\n---\na: 1\n"}) {
    EXPECT_THAT(Refused(text), StartsWith("f.yaml:")) << text;
  }
}

TEST(StrictYaml, RefusesWhatIsNoText) {
  EXPECT_EQ(Refused(std::string_view("a: 1\nb\0", 7)), "f.yaml:2:2: byte 0x00 found, UTF-8 text expected");
  EXPECT_THAT(Refused("a: \xFF\n"), HasSubstr("byte 0xff"));
  EXPECT_THAT(Refused("\xFF\xFE"
                      "a\n"),
              HasSubstr("byte 0xff"))
      << "UTF-16";
  EXPECT_THAT(Refused("\x7F"
                      "ELF"),
              HasSubstr("byte 0x7f"));
  EXPECT_THAT(Refused("a: \"\\x1b[31m\"\n"), HasSubstr("control character")) << "an escape that spells one";
  EXPECT_THAT(Refused("\"a\\0\": 1\n"), HasSubstr("control character"));
}

TEST(StrictYaml, EightLevelsAreAllowedAndNineAreNot) {
  const std::string eight = Repeated("[", 8) + "x" + Repeated("]", 8);
  EXPECT_EQ(Parse(eight).kind, YamlNode::Kind::kList);
  EXPECT_THAT(Refused("[" + eight + "]"), HasSubstr("8 levels"));
  std::string block;
  for (size_t i = 0; i < 9; ++i) block += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(Parse(block.substr(0, block.size() - 11)).kind, YamlNode::Kind::kMap);
  EXPECT_THAT(Refused(block), HasSubstr("8 levels"));
}

TEST(StrictYaml, SixtyFourKibibytesAreAllowedAndOneMoreIsNot) {
  const std::string most = "#" + std::string(64 * 1024 - 1, 'x');
  EXPECT_EQ(Parse(most).kind, YamlNode::Kind::kNull);
  EXPECT_THAT(Refused(most + "x"), HasSubstr("65537 bytes found"));
}

TEST(StrictYaml, BracketsInTextAreNoNesting) {
  EXPECT_EQ(Parse("a: '" + Repeated("[", 60) + "'\n").Required("a").AsString().size(), 60u);
}

// Each of these inputs has overflowed the stack of a YAML parser, or kept it busy for minutes.
TEST(StrictYaml, BombsAreRefusedQuicklyAndWithoutDeepRecursion) {
  const char* const units[] = {"[", "{",  "- ", "? ", ": ", "[?",    "{a: ", "a: ", "!", "&a ",  "*a ",
                               "|", ">-", "\"", "'",  "%",  "---\n", "[]:",  "{}",  ",", "- - ", "\xC3\xA9["};
  for (const std::string_view unit : units) {
    try {
      Parse(Repeated(unit, 64 * 1024 / unit.size()));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument) << unit;
    }
  }
  std::string laughs = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    laughs += fmt::format("{}: &{} [*{}, *{}]\n", c, c, static_cast<char>(c - 1), static_cast<char>(c - 1));
  }
  EXPECT_THAT(Refused(laughs), HasSubstr("anchors"));
}

// For any bytes, the answer is a tree or an INVALID_ARGUMENT with a message of one line.
TEST(StrictYaml, SurvivesDamagedManifests) {
  const std::string good = "name: vulkan\nlibrary: {linux-x86_64: 'a.so', w: \"b\"}\nsources: [A, B]\nabi: |\n  0.1\n";
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (int i = 0; i < 3 && !text.empty(); ++i) {
      constexpr std::string_view kHostile = "[]{}:,-?&*!|>'\"%@`#\n \t<\\";
      const char any = static_cast<char>(random());
      text[random() % text.size()] = random() % 4 == 0 ? any : kHostile[random() % kHostile.size()];
    }
    try {
      Parse(text);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), StatusCode::kInvalidArgument);
      ASSERT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace epiphyte::core
