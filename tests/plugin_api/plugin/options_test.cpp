// Options as the kit declares and reads them. The host must accept each declaration.
#include "epiphyte/kit/plugin/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/registry/option_declaration.h"

namespace epiphyte::test {
namespace {

using core::OptionDeclaration;
using kit::Option;
using kit::OptionTable;
using kit::OptionValues;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPrecisions[] = {"f32", "f16"};
constexpr Option kOptions[] = {
    Option::Choice("precision", kPrecisions, "f32", "what products are computed in"),
    Option::Int("tiles", 4, "how many tiles a model gets", 1, 8),
    Option::Int("seed", -7, "where random numbers begin"),
    Option::Float("scale", 0.1, "what all is multiplied with", 0),
    Option::Bool("quiet", true, "says nothing"),
    Option::String("label", "", "stands before what it says"),
};

using Given = std::map<std::string, std::string>;

template <typename Call>
std::string Thrown(EpStatusCode code, const Call& call) {
  try {
    call();
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}
std::string Refused(const Given& given) {
  return Thrown(EP_STATUS_INVALID_ARGUMENT, [&] { OptionValues(kOptions, given); });
}

std::vector<OptionDeclaration> AsTheHostReads(const OptionTable& table) {
  uint32_t count = 0;
  table.Get(nullptr, 0, &count);
  std::vector<const EpOptionInfo*> infos(count + 1, nullptr);
  table.Get(infos.data(), count, &count);
  EXPECT_EQ(infos.back(), nullptr) << "no more than there is room for";
  infos.pop_back();
  return core::ReadDeclarations(infos);
}

TEST(KitOptions, AreDeclaredAsTheHostReadsThem) {
  const OptionTable table(kOptions);
  const std::vector<OptionDeclaration> declared = AsTheHostReads(table);
  ASSERT_EQ(declared.size(), 6u);
  EXPECT_EQ(declared[0],
            (OptionDeclaration{
                EP_OPTION_CHOICE, "precision", "f32", "what products are computed in", "", "", {"f32", "f16"}}));
  EXPECT_EQ(declared[1], (OptionDeclaration{EP_OPTION_INT, "tiles", "4", "how many tiles a model gets", "1", "8", {}}));
  EXPECT_EQ(declared[2], (OptionDeclaration{EP_OPTION_INT, "seed", "-7", "where random numbers begin", "", "", {}}));
  EXPECT_EQ(declared[3],
            (OptionDeclaration{EP_OPTION_FLOAT, "scale", "0.1", "what all is multiplied with", "0", "", {}}));
  EXPECT_EQ(declared[4], (OptionDeclaration{EP_OPTION_BOOL, "quiet", "1", "says nothing", "", "", {}}));
  EXPECT_EQ(declared[5], (OptionDeclaration{EP_OPTION_STRING, "label", "", "stands before what it says", "", "", {}}));
}

TEST(KitOptions, AreReadTypedWithTheirDefaults) {
  const OptionValues options(kOptions, {});
  EXPECT_EQ(options.Text("precision"), "f32");
  EXPECT_EQ(options.Int("tiles"), 4);
  EXPECT_EQ(options.Int("seed"), -7);
  EXPECT_EQ(options.Float("scale"), 0.1);
  EXPECT_TRUE(options.Bool("quiet"));
  EXPECT_EQ(options.Text("label"), "");
}

TEST(KitOptions, AreReadTypedAsGiven) {
  const OptionValues options(kOptions, {{"precision", "f16"},
                                        {"tiles", "8"},
                                        {"seed", "9223372036854775807"},
                                        {"scale", "2e-3"},
                                        {"quiet", "0"},
                                        {"label", "a b"}});
  EXPECT_EQ(options.Text("precision"), "f16");
  EXPECT_EQ(options.Int("tiles"), 8);
  EXPECT_EQ(options.Int("seed"), INT64_MAX);
  EXPECT_EQ(options.Float("scale"), 0.002);
  EXPECT_FALSE(options.Bool("quiet"));
  EXPECT_EQ(options.Text("label"), "a b");
}

// A host that doesn't know the extension does not check options, so the kit does.
TEST(KitOptions, WhatAHostLetsThroughIsCheckedAgain) {
  EXPECT_EQ(Refused({{"tile", "2"}}),
            "option 'tile' is unknown; there are precision, tiles, seed, scale, quiet, label");
  EXPECT_EQ(Refused({{"tiles", "9"}}), "option 'tiles' is '9', a whole number from 1 to 8 expected");
  EXPECT_EQ(Refused({{"seed", "x"}}), "option 'seed' is 'x', a whole number expected");
  EXPECT_EQ(Refused({{"scale", "-1"}}), "option 'scale' is '-1', a number of at least 0 expected");
  EXPECT_EQ(Refused({{"scale", "nan"}}), "option 'scale' is 'nan', a number of at least 0 expected");
  EXPECT_EQ(Refused({{"precision", "f8"}}), "option 'precision' is 'f8', one of f32, f16 expected");
  EXPECT_EQ(Refused({{"quiet", "maybe"}}), "option 'quiet' is 'maybe', 0 or 1 expected");
}

// The rule of ep_options.h is implemented twice: the kit has typed bounds, the host has a plugin's texts, and neither
// includes the other. There is one difference: users may write true and false, which the host passes as 1 and 0.
TEST(KitOptions, TheKitAndTheHostTakeTheSameValues) {
  const OptionTable table(kOptions);
  const std::vector<OptionDeclaration> declared = AsTheHostReads(table);
  const char* const values[] = {"",     " ",    "0",     "1",     "8",
                                "9",    "-7",   "+4",    "4 ",    " 4",
                                "4.0",  "0x4",  "1e0",   "0.5",   "-0",
                                "-0.0", "-1",   "1e308", "1e309", "1e-400",
                                "inf",  "-inf", "nan",   "NaN",   "f32",
                                "F32",  "f8",   "a b",   "TRUE",  "9223372036854775807",
                                "1,5",  "f32 ", "--1",   "1e",    "9223372036854775808",
                                ".5",   "5.",   "01",    "00",    "-9223372036854775808"};
  size_t taken = 0;
  for (const Option& option : kOptions) {
    for (const char* value : values) {
      const std::string why_not = option.WhyNot(value);
      const auto wrong = core::FindWrong(declared, {{std::string(option.name()), value}});
      EXPECT_EQ(why_not.empty(), !wrong) << option.name() << " '" << value << "'";
      taken += why_not.empty() ? 1 : 0;
      if (!wrong || option.type() == EP_OPTION_BOOL) continue;
      EXPECT_THAT(wrong->problem, HasSubstr(why_not));
    }
  }
  EXPECT_GT(taken, std::size(values));
  for (const char* spelled : {"true", "false"}) EXPECT_FALSE(core::FindWrong(declared, {{"quiet", spelled}}));
}

TEST(KitOptions, ReadingOneThatIsNotInTheTableIsThePluginsMistake) {
  const OptionValues options(kOptions, {});
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [&] { options.Int("tile"); }), HasSubstr("reads option 'tile'"));
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [&] { options.Bool("tiles"); }), HasSubstr("or with another type"));
}

// In a constexpr table, these are errors at compile time.
TEST(KitOptions, ADeclarationThatCannotHoldIsRefusedWithItsName) {
  EXPECT_EQ(Thrown(EP_STATUS_FAIL, [] { Option::Int("tiles", 9, "how many", 1, 8); }),
            "option 'tiles' has a default out of its range; mend its declaration");
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [] { Option::Float("scale", -1, "how much", 0); }), HasSubstr("'scale'"));
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [] { Option::Choice("precision", kPrecisions, "f8", "which"); }),
              HasSubstr("a default that is none of its choices"));
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [] { Option::String("label", nullptr, "which"); }), HasSubstr("has no default"));
  EXPECT_THAT(Thrown(EP_STATUS_FAIL, [] { Option::Bool("quiet", true, ""); }), HasSubstr("has no help"));
  constexpr Option kTwice[] = {Option::Bool("quiet", true, "says nothing"), Option::Bool("quiet", true, "says less")};
  EXPECT_EQ(Thrown(EP_STATUS_FAIL, [&] { OptionTable table(kTwice); }),
            "option 'quiet' is declared twice; rename one of them");
}

}  // namespace
}  // namespace epiphyte::test
