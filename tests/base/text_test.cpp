#include "core/base/text.h"

#include <gtest/gtest.h>

namespace epiphyte::core {
namespace {

TEST(FindNonText, AcceptsUtf8OfEveryLength) {
  const std::string text = "a\tb\r\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\xBF";
  EXPECT_EQ(FindNonText(text), text.size());
  EXPECT_EQ(FindNonText(""), 0u);
}

TEST(FindNonText, FindsTheFirstByteThatIsNoText) {
  EXPECT_EQ(FindNonText(std::string_view("a\0b", 3)), 1u);
  EXPECT_EQ(FindNonText("ab\x1b[31m"), 2u);
  EXPECT_EQ(FindNonText("\x7f"), 0u);
  EXPECT_EQ(FindNonText("a\xC2\x85"), 1u) << "C1 control characters are no text";
}

TEST(FindNonText, RefusesIllFormedUtf8) {
  for (const std::string_view bad : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                     "\xF8\x88\x80\x80\x80", "\xE2\x82", "\xC3\x28"}) {
    EXPECT_EQ(FindNonText(bad), 0u) << testing::PrintToString(bad);
  }
}

TEST(CountText, HasOnePluralRule) {
  EXPECT_EQ(CountText(0, "node"), "0 nodes");
  EXPECT_EQ(CountText(1, "node"), "1 node");
  EXPECT_EQ(CountText(2, "plain node"), "2 plain nodes");
}

TEST(PrintableLine, MakesOneLineOfAnything) {
  EXPECT_EQ(PrintableLine("plain"), "plain");
  EXPECT_EQ(PrintableLine("a\nb\r\nc"), "a b  c");
  EXPECT_EQ(PrintableLine("\x1b[31mred"), " [31mred");
  EXPECT_EQ(PrintableLine("x\xFFy"), "x?y");
}

TEST(PrintableLine, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(PrintableLine("abcdef", 4), "abcd...");
  EXPECT_EQ(PrintableLine("abc\xC3\xA9", 4), "abc...");
  EXPECT_EQ(PrintableLine("abc\xC3\xA9", 5), "abc\xC3\xA9");
}

// On many terminals U+009B alone begins a control sequence.
TEST(PrintableLine, ReplacesControlCharactersOfEverySet) {
  EXPECT_EQ(PrintableLine("a\xC2\x9B"
                          "31mb"),
            "a 31mb");
  EXPECT_EQ(PrintableLine("a\xC2\x80\xC2\x9F"
                          "b"),
            "a  b");
  EXPECT_EQ(PrintableLine("a\xE2\x80\xA8"
                          "b\xE2\x80\xA9"
                          "c"),
            "a b c")
      << "line and paragraph separator";
}

TEST(PrintableLine, ReplacesWhatChangesTheDirectionOfText) {
  for (const char* mark : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D", "\u202E", "\u2066",
                           "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(PrintableLine(std::string("a") + mark + "b"), "a?b") << testing::PrintToString(std::string(mark));
  }
  EXPECT_EQ(PrintableLine("\u05D0\u0627 \u2065\u206A"), "\u05D0\u0627 \u2065\u206A") << "letters and neighbours stay";
}

TEST(PrintableJson, EscapesTheSameAndLosesNothing) {
  EXPECT_EQ(PrintableJson("{\"n\": \"a\u202Eb\xC2\x9B\x7F\u00E9\"}\n"), "{\"n\": \"a\\u202eb\\u009b\\u007f\u00E9\"}\n");
  EXPECT_EQ(PrintableJson("\xFF"), "?");
}

}  // namespace
}  // namespace epiphyte::core
