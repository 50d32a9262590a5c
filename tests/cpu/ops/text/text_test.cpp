// Sequences, optionals and strings.
#include "tests/cpu/ops/move_testing.h"

#include "plugins/cpu/text/regex.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

cpu::Datum TwoTensors() {
  return MakeSequence(EP_TYPE_FLOAT, {MakeDatum<float>({1}, {1}), MakeDatum<float>({2}, {2, 3})});
}

TEST(Sequence, InsertCountsFromBothEnds) {
  OpRunner insert("SequenceInsert", 11);
  insert.InputDatum(TwoTensors()).Input<float>({1}, {9}).Input<int64_t>({}, {-1}).Run();
  const auto& elements = *insert.OutputDatum(0).elements;
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_THAT(Values<float>(elements[1].tensor), ElementsAre(9));
  OpRunner beyond("SequenceInsert", 11);
  beyond.InputDatum(TwoTensors()).Input<float>({1}, {9}).Input<int64_t>({}, {3});
  EXPECT_THAT(Failure(beyond), HasSubstr("[-2, 2]"));
  OpRunner type("SequenceInsert", 11);
  type.InputDatum(TwoTensors()).Input<int64_t>({1}, {9});
  EXPECT_THAT(Failure(type), HasSubstr("same type"));
}

TEST(Sequence, EraseAtAndLength) {
  OpRunner erase("SequenceErase", 11);
  erase.InputDatum(TwoTensors()).Run();
  ASSERT_EQ(erase.OutputDatum(0).elements->size(), 1u);
  EXPECT_THAT(Values<float>((*erase.OutputDatum(0).elements)[0].tensor), ElementsAre(1));
  OpRunner at("SequenceAt", 11);
  at.InputDatum(TwoTensors()).Input<int32_t>({}, {-1}).Run();
  EXPECT_THAT(at.Output<float>(0), ElementsAre(2, 3));
  OpRunner outside("SequenceAt", 11);
  outside.InputDatum(TwoTensors()).Input<int64_t>({}, {2});
  EXPECT_THAT(Failure(outside), HasSubstr("[-2, 1]"));
  OpRunner length("SequenceLength", 11);
  length.InputDatum(MakeSequence(EP_TYPE_STRING, {})).Run();
  EXPECT_THAT(length.Output<int64_t>(0), ElementsAre(0));
}

TEST(Sequence, SplitAndConcatAreInverse) {
  OpRunner split("SplitToSequence", 24);
  split.Attribute("axis", 1).Input<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"}).Input<int64_t>({}, {2}).Run();
  ASSERT_EQ(split.OutputDatum(0).elements->size(), 2u);
  EXPECT_THAT(Values<std::string>((*split.OutputDatum(0).elements)[1].tensor), ElementsAre("c", "f"));
  OpRunner concat("ConcatFromSequence", 11);
  concat.Attribute("axis", 1).InputDatum(split.OutputDatum(0)).Run();
  EXPECT_THAT(concat.Output<std::string>(0), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST(Sequence, SplitsIntoScalarsAndStacksThemAgain) {
  OpRunner split("SplitToSequence", 11);
  split.Attribute("keepdims", 0).Input<int32_t>({3}, {1, 2, 3}).Run();
  ASSERT_EQ(split.OutputDatum(0).elements->size(), 3u);
  EXPECT_EQ((*split.OutputDatum(0).elements)[0].tensor.rank(), 0u);
  OpRunner stack("ConcatFromSequence", 11);
  stack.Attribute("axis", 0).Attribute("new_axis", 1).InputDatum(split.OutputDatum(0)).Run();
  EXPECT_THAT(stack.Output<int32_t>(0), ElementsAre(1, 2, 3));
}

TEST(Sequence, RefusesATensorInPlaceOfASequence) {
  OpRunner length("SequenceLength", 11);
  length.Input<float>({1}, {1});
  EXPECT_THAT(Failure(length), HasSubstr("no sequence"));
  OpRunner nothing("ConcatFromSequence", 11);
  nothing.Attribute("axis", 0).InputDatum(MakeSequence(EP_TYPE_FLOAT, {}));
  EXPECT_THAT(Failure(nothing), HasSubstr("without tensors"));
}

TEST(Optional, KnowsWhetherItHasAValue) {
  const auto has = [](OpRunner& runner) -> bool {
    runner.Run();
    return runner.Output<bool>(0)[0];
  };
  OpRunner full("OptionalHasElement", 18);
  full.InputDatum(TwoTensors());
  EXPECT_TRUE(has(full));
  OpRunner empty("OptionalHasElement", 15);
  empty.InputDatum(MakeEmptyOptional());
  EXPECT_FALSE(has(empty));
  OpRunner absent("OptionalHasElement", 18);
  EXPECT_FALSE(has(absent));
  OpRunner get("OptionalGetElement", 15);
  get.InputDatum(MakeEmptyOptional());
  EXPECT_THAT(Failure(get), HasSubstr("without a value"));
}

TEST(StringSplit, FollowsPython) {
  OpRunner spaces("StringSplit", 20);
  spaces.Attribute("maxsplit", 1).Input<std::string>({3}, {"  a b  c ", "", "x"}).Outputs(2).Run();
  EXPECT_EQ(spaces.Dims(0), (Shape{3, 2}));
  EXPECT_THAT(spaces.Output<std::string>(0), ElementsAre("a", "b  c ", "", "", "x", ""));
  EXPECT_THAT(spaces.Output<int64_t>(1), ElementsAre(2, 0, 1));
  OpRunner delimiter("StringSplit", 20);
  delimiter.Attribute("delimiter", "--").Input<std::string>({2}, {"a----b", ""}).Outputs(2).Run();
  EXPECT_THAT(delimiter.Output<std::string>(0), ElementsAre("a", "", "b", "", "", ""));
  EXPECT_THAT(delimiter.Output<int64_t>(1), ElementsAre(3, 1));
}

TEST(StringConcat, Broadcasts) {
  OpRunner concat("StringConcat", 20);
  concat.Input<std::string>({2, 1}, {"a", "b"}).Input<std::string>({2}, {"x", "y"}).Run();
  EXPECT_THAT(concat.Output<std::string>(0), ElementsAre("ax", "ay", "bx", "by"));
}

TEST(StringNormalizer, MapsLettersBeyondAscii) {
  OpRunner upper("StringNormalizer", 10);
  upper.Attribute("case_change_action", "UPPER").Attribute("stopwords", std::vector<std::string>{"Ünd"});
  upper.Input<std::string>({4}, {"straße", "ünd", "жизнь", "\xff"}).Run();
  EXPECT_THAT(upper.Output<std::string>(0), ElementsAre("STRAßE", "ЖИЗНЬ", "\xff"));
}

bool Matches(const std::string& pattern, std::string_view text) { return cpu::Regex(pattern).FullMatch(text); }

TEST(Regex, MatchesTheWholeText) {
  EXPECT_TRUE(Matches("a|ab|abc", "abc"));
  EXPECT_FALSE(Matches("a|ab", "abc"));
  EXPECT_TRUE(Matches("", ""));
  EXPECT_FALSE(Matches("a", ""));
  EXPECT_TRUE(Matches("(?:x|y)+z?", "xyyx"));
  EXPECT_TRUE(Matches("a{2,3}b{0}c{1,}", "aaccc"));
  EXPECT_FALSE(Matches("a{2,3}", "a"));
  EXPECT_TRUE(Matches("a{,3}", "a{,3}")) << "no repetition, so a literal";
}

TEST(Regex, ClassesAndEscapes) {
  EXPECT_TRUE(Matches("[^\\d\\s]+", "abc_"));
  EXPECT_TRUE(Matches("[]a-c-]*", "a-]c"));
  EXPECT_TRUE(Matches("[[:alpha:]][[:^digit:]]", "aZ"));
  EXPECT_TRUE(Matches("\\x41\\x{20AC}\\Q.*\\E", "A€.*"));
  EXPECT_TRUE(Matches("(?i)straßE[a-c]", "STRAßeC"));
  EXPECT_TRUE(Matches("a(?i:b)c", "aBc"));
  EXPECT_FALSE(Matches("a(?i:b)c", "aBC"));
}

TEST(Regex, ClassesOfUnicode) {
  EXPECT_TRUE(Matches("\\pL+", "Straßeжизнь語"));
  EXPECT_FALSE(Matches("\\pL+", "a1"));
  EXPECT_TRUE(Matches("\\p{Greek}\\P{Greek}", "λx"));
  EXPECT_TRUE(Matches("[\\p{Lu}\\p{Nd}]+", "ÄΩ٣"));
  EXPECT_TRUE(Matches("(?i)ΣΊΣΥΦΟΣ", "σίσυφος"));
  EXPECT_THROW(cpu::Regex regex("\\p{NoSuchScript}"), kit::Error);
}

TEST(Regex, InvalidUtf8MatchesNoCharacter) {
  EXPECT_FALSE(Matches("(?s).", "\xff"));
  EXPECT_TRUE(Matches("\\C", "\xff")) << "one byte";
  EXPECT_THROW(cpu::Regex regex("\xff"), kit::Error);
}

TEST(Regex, Assertions) {
  EXPECT_TRUE(Matches("^\\bab\\b$", "ab"));
  EXPECT_FALSE(Matches("a\\bb", "ab"));
  EXPECT_TRUE(Matches("(?m)a$\n^b", "a\nb"));
  EXPECT_FALSE(Matches("a$\n^b", "a\nb"));
  EXPECT_TRUE(Matches("(?s)a.b", "a\nb"));
  EXPECT_FALSE(Matches("a.b", "a\nb"));
}

TEST(Regex, HostileExpressionsTakeLinearTime) {
  // A backtracking matcher would need 2^40 steps.
  EXPECT_FALSE(Matches("(a*)*(a|aa)+b", std::string(4000, 'a')));
  EXPECT_TRUE(Matches("(()*|a?)*", "aaa"));
  for (const std::string pattern :
       {"(", ")", "[a", "a{1001}", "(?<", "\\", "*a", "[b-a]", "\\x{110000}", "(?q)", "[[:no:]]"})
    EXPECT_THROW(cpu::Regex regex(pattern), kit::Error) << pattern;
  EXPECT_THROW(cpu::Regex regex("((((a{1000}){1000}){1000}){1000})"), kit::Error);
  EXPECT_THROW(cpu::Regex regex(std::string(100'000, '(')), kit::Error);
  EXPECT_TRUE(Matches(std::string(50'000, 'a') + "|b", "b"));
}

TEST(Regex, MemoryOfHostileExpressionsIsBounded) {
  const auto failure = [](const std::string& pattern) {
    try {
      cpu::Regex regex(pattern);
    } catch (const kit::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // Ten thousand character classes of hundreds of ranges exceed RE2's limit for programs by far.
  std::string large;
  for (int i = 0; i < 100; ++i) large += "(\\pL{100})";
  EXPECT_THAT(failure(large), AllOf(HasSubstr("pattern '(\\pL{100})"), HasSubstr("...' found, RE2's syntax expected: "),
                                    HasSubstr("pattern too large")));
  EXPECT_LT(failure(large).size(), 400u);
  // A deterministic automaton for this pattern has 2^20 states. RE2 caches some of them, and goes on without the cache
  // when its memory is full.
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += i * 7919 % 13 < 6 ? 'a' : 'b';
  EXPECT_TRUE(Matches("(?s).*a.{19}", text.substr(0, text.rfind('a') + 1) + std::string(19, 'b')));
}

TEST(RegexFullMatch, RefusesAPatternThatIsNone) {
  OpRunner match("RegexFullMatch", 20);
  match.Attribute("pattern", "\\pL+(").Input<std::string>({1}, {"x"});
  EXPECT_THAT(Failure(match), HasSubstr("pattern '\\pL+(' found, RE2's syntax expected: missing )"));
  OpRunner letters("RegexFullMatch", 20);
  letters.Attribute("pattern", "\\pL+").Input<std::string>({3}, {"Straße", "x1", ""}).Run();
  EXPECT_THAT(letters.Output<bool>(0), ElementsAre(true, false, false));
}

}  // namespace
}  // namespace epiphyte::test
