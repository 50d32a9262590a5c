// Options that a plugin declares: valid declarations, checks of given options against them, and the options that the
// plugin gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "core/registry/catalog.h"
#include "core/registry/option_declaration.h"
#include "tests/base/error_of.h"
#include "tests/registry/fake_plugin.h"

namespace epiphyte::core {
namespace {

using test::ErrorOf;
using test::FakeHost;
using test::FakeOption;
using test::FakePlugin;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

constexpr const char* kPrecisions[] = {"f32", "bf16"};

EpOptionInfo Choice(const char* name, const char* default_value) {
  EpOptionInfo info = FakeOption(EP_OPTION_CHOICE, name, default_value);
  info.choices = kPrecisions;
  info.choice_count = 2;
  return info;
}

EpOptionInfo Bounded(EpOptionType type, const char* name, const char* default_value, const char* minimum,
                     const char* maximum) {
  EpOptionInfo info = FakeOption(type, name, default_value);
  info.minimum = minimum;
  info.maximum = maximum;
  return info;
}

std::vector<OptionDeclaration> Read(const std::vector<EpOptionInfo>& infos) {
  std::vector<const EpOptionInfo*> pointers;
  for (const EpOptionInfo& info : infos) pointers.push_back(&info);
  return ReadDeclarations(pointers);
}

// Returns "name: message" of the fault that is found.
std::string Bad(OptionFault fault, const std::vector<EpOptionInfo>& infos) {
  try {
    Read(infos);
  } catch (const BadOption& bad) {
    EXPECT_EQ(bad.fault(), fault) << bad.message();
    return bad.message();
  }
  return "nothing is wrong";
}

std::vector<OptionDeclaration> Some() {
  return Read({Choice("precision", "f32"), Bounded(EP_OPTION_INT, "tiles", "4", "1", "8"),
               Bounded(EP_OPTION_FLOAT, "scale", "1.5", "0", nullptr), FakeOption(EP_OPTION_BOOL, "quiet", "true"),
               FakeOption(EP_OPTION_STRING, "label", "")});
}

std::string Problem(const char* name, const std::string& value) {
  const auto wrong = FindWrong(Some(), {{name, value}});
  return wrong ? wrong->subject + " " + wrong->problem : "";
}

TEST(DeclaredOptions, AreReadAsTheyAreDeclared) {
  const std::vector<OptionDeclaration> declared = Some();
  ASSERT_EQ(declared.size(), 5u);
  EXPECT_EQ(declared[0].name, "precision");
  EXPECT_EQ(declared[0].default_value, "f32");
  EXPECT_EQ(declared[0].help, "what it is for");
  EXPECT_THAT(declared[0].choices, ElementsAre("f32", "bf16"));
  EXPECT_EQ(declared[1].type, EP_OPTION_INT);
  EXPECT_EQ(declared[1].minimum, "1");
  EXPECT_EQ(declared[1].maximum, "8");
  EXPECT_EQ(declared[2].maximum, "");
}

TEST(DeclaredOptions, ADefaultIsThereAndFits) {
  EXPECT_THAT(Bad(OptionFault::kNoDefault, {FakeOption(EP_OPTION_INT, "tiles", nullptr)}),
              StartsWith("option 'tiles' has no default"));
  EXPECT_EQ(Bad(OptionFault::kDefault, {Bounded(EP_OPTION_INT, "tiles", "9", "1", "8")}),
            "option 'tiles' has the default '9', a whole number from 1 to 8 expected");
  EXPECT_EQ(Bad(OptionFault::kDefault, {Choice("precision", "f16")}),
            "option 'precision' has the default 'f16', one of f32, bf16 expected");
  EXPECT_THAT(Bad(OptionFault::kDefault, {FakeOption(EP_OPTION_BOOL, "quiet", "")}),
              HasSubstr("true or false expected"));
  EXPECT_THAT(Bad(OptionFault::kDefault, {FakeOption(EP_OPTION_FLOAT, "scale", "nan")}),
              HasSubstr("a number expected"));
  EXPECT_THAT(Bad(OptionFault::kDefault, {FakeOption(EP_OPTION_STRING, "label", "two\nlines")}),
              HasSubstr("the default of option 'label' is"));
}

TEST(DeclaredOptions, NamesAreValidUniqueAndNotReserved) {
  for (const char* name : {"", "sca le", "a|b", "größe", "a=b"}) {
    EXPECT_THAT(Bad(OptionFault::kName, {FakeOption(EP_OPTION_INT, name, "1")}), HasSubstr("the name of option 0"))
        << name;
  }
  EXPECT_THAT(Bad(OptionFault::kName, {FakeOption(EP_OPTION_INT, nullptr, "1")}), HasSubstr("is null"));
  EXPECT_THAT(Bad(OptionFault::kName, {FakeOption(EP_OPTION_INT, std::string(65, 'a').c_str(), "1")}),
              HasSubstr("1 to 64 letters"));
  EXPECT_THAT(Bad(OptionFault::kName, {FakeOption(EP_OPTION_INT, "device", "0")}), HasSubstr("the host's own option"));
  EXPECT_EQ(Bad(OptionFault::kTwice, {FakeOption(EP_OPTION_INT, "a", "1"), FakeOption(EP_OPTION_BOOL, "a", "1")}),
            "option 'a' is declared twice");
  EXPECT_EQ(Read({FakeOption(EP_OPTION_INT, "cache.bytes_max-2", "1")})[0].name, "cache.bytes_max-2");
}

TEST(DeclaredOptions, RangesAreOfNumbersAndHoldSomething) {
  EXPECT_THAT(Bad(OptionFault::kRange, {Bounded(EP_OPTION_INT, "tiles", "4", "8", "1")}),
              HasSubstr("so that none fits"));
  EXPECT_THAT(Bad(OptionFault::kRange, {Bounded(EP_OPTION_INT, "tiles", "4", "one", nullptr)}),
              HasSubstr("the bound 'one', a whole number"));
  EXPECT_THAT(Bad(OptionFault::kRange, {Bounded(EP_OPTION_INT, "tiles", "4", "", nullptr)}), HasSubstr("is empty"));
  EXPECT_THAT(Bad(OptionFault::kRange, {Bounded(EP_OPTION_FLOAT, "scale", "4", "-inf", nullptr)}),
              HasSubstr("a finite number"));
  EXPECT_THAT(Bad(OptionFault::kRange, {Bounded(EP_OPTION_BOOL, "quiet", "1", nullptr, "1")}),
              HasSubstr("of type bool has a maximum"));
}

TEST(DeclaredOptions, ChoicesAreThereDifferAndBelongToChoices) {
  EpOptionInfo none = Choice("precision", "f32");
  none.choice_count = 0;
  EXPECT_THAT(Bad(OptionFault::kChoices, {none}), HasSubstr("has 0 choices"));
  none.choice_count = EP_MAX_OPTIONS + 1;
  EXPECT_THAT(Bad(OptionFault::kChoices, {none}), HasSubstr("1 to 256 expected"));
  none.choice_count = 2;
  none.choices = nullptr;
  EXPECT_THAT(Bad(OptionFault::kChoices, {none}), HasSubstr("in a null array"));
  const char* twice[] = {"f32", "f32"};
  none.choices = twice;
  EXPECT_THAT(Bad(OptionFault::kChoices, {none}), HasSubstr("'f32' twice"));
  twice[1] = nullptr;
  EXPECT_THAT(Bad(OptionFault::kChoices, {none}), HasSubstr("choice 1 of option 'precision' is null"));
  EpOptionInfo number = FakeOption(EP_OPTION_INT, "tiles", "4");
  number.choices = kPrecisions;
  EXPECT_THAT(Bad(OptionFault::kChoices, {number}), HasSubstr("of type int has choices"));
}

TEST(DeclaredOptions, AStructATypeAndAHelpAreThere) {
  EpOptionInfo info = FakeOption(EP_OPTION_INT, "tiles", "4");
  EXPECT_THAT(
      ErrorOf(StatusCode::kInvalidArgument, [] { ReadDeclarations(std::vector<const EpOptionInfo*>{nullptr}); }),
      HasSubstr("option 0 is malformed: it is null"));
  info.struct_size = 8;
  EXPECT_THAT(Bad(OptionFault::kInfo, {info}), HasSubstr("EpOptionInfo::struct_size is 8"));
  info = FakeOption(EP_OPTION_INT, "tiles", "4");
  info.reserved = 1;
  EXPECT_THAT(Bad(OptionFault::kInfo, {info}), HasSubstr("EpOptionInfo::reserved is 1"));
  EXPECT_EQ(Bad(OptionFault::kType, {FakeOption(9, "tiles", "4")}), "option 'tiles' is of type 9, 0 to 4 expected");
  info = FakeOption(EP_OPTION_INT, "tiles", "4");
  info.help = "";
  EXPECT_THAT(Bad(OptionFault::kHelp, {info}), HasSubstr("the help of option 'tiles' is empty"));
}

TEST(DeclaredOptions, WhatFitsHasNoProblem) {
  for (const char* value : {"1", "8", "4", "08"}) EXPECT_EQ(Problem("tiles", value), "") << value;
  for (const char* value : {"0", "0.25", "1e3", "2."}) EXPECT_EQ(Problem("scale", value), "") << value;
  for (const char* value : {"0", "1", "true", "false"}) EXPECT_EQ(Problem("quiet", value), "") << value;
  EXPECT_EQ(Problem("precision", "bf16"), "");
  EXPECT_EQ(Problem("label", "any text, \t too"), "");
  EXPECT_EQ(Problem("device", "3"), "") << "is the host's to judge";
}

TEST(DeclaredOptions, WrongValueIsReportedWithTheValidOnes) {
  EXPECT_EQ(Problem("tiles", "9"), "option 'tiles' is '9', a whole number from 1 to 8 expected");
  for (const char* value : {"", "x", "0", "4.0", "+4", " 4", "4 ", "0x4", "99999999999999999999"}) {
    EXPECT_THAT(Problem("tiles", value), HasSubstr("a whole number from 1 to 8")) << value;
  }
  for (const char* value : {"", "-0.5", "inf", "nan", "1,5", "1e999", "0x1p3"}) {
    EXPECT_THAT(Problem("scale", value), HasSubstr("a number of at least 0 expected")) << value;
  }
  for (const char* value : {"", "yes", "TRUE", "2"}) EXPECT_THAT(Problem("quiet", value), HasSubstr("true or false"));
  EXPECT_EQ(Problem("precision", "bf61"),
            "option 'precision' is 'bf61', one of f32, bf16 expected; did you mean 'bf16'?");
  EXPECT_THAT(Problem("precision", "F32"), HasSubstr("did you mean 'f32'?"));
  EXPECT_THAT(Problem("label", std::string("a\0b", 3)), HasSubstr("without a zero byte"));
}

TEST(DeclaredOptions, AnUnknownNameNamesTheNearestOrAll) {
  EXPECT_EQ(Problem("precison", "f32"), "option 'precison' is unknown; did you mean 'precision'?");
  EXPECT_EQ(Problem("colour", "red"), "option 'colour' is unknown; known are: precision, tiles, scale, quiet, label");
  EXPECT_EQ(FindWrong({}, {{"a", "1"}})->problem, "is unknown; there are none");
}

TEST(DeclaredOptions, WhatIsNotGivenArrivesAsItsDefaultAndABoolAsADigit) {
  OptionMap options = {{"tiles", "2"}, {"device", "1"}};
  Complete(Some(), &options);
  EXPECT_THAT(options, ElementsAre(Pair("device", "1"), Pair("label", ""), Pair("precision", "f32"), Pair("quiet", "1"),
                                   Pair("scale", "1.5"), Pair("tiles", "2")));
  options = {{"quiet", "false"}};
  Complete(Some(), &options);
  EXPECT_EQ(options["quiet"], "0");
}

// --- options of a plugin that is loaded

class OptionsOfAPlugin : public testing::Test {
 protected:
  OptionsOfAPlugin() : fake_(FakePlugin::Reset()) {
    fake_.options = {Choice("precision", "f32")};
    fake_.options_table = &test::fake_calls::kOptionsApi;
    hermetic_.use_environment = false;
    hermetic_.use_user_folder = false;
    hermetic_.use_system_folders = false;
  }
  ~OptionsOfAPlugin() override {
    EXPECT_EQ(test::LiveStatuses(), 0);
    EXPECT_EQ(fake_.initializations, fake_.shutdowns);
  }
  // Loads the plugin and returns the options that it declares.
  std::optional<std::vector<OptionDeclaration>> Options() {
    Catalog catalog(hermetic_, &FakeHost());
    catalog.Register(FakePlugin::Query, 0);
    return catalog.Load("fake").options;
  }
  std::string Refused() {
    Catalog catalog(hermetic_, &FakeHost());
    return ErrorOf(StatusCode::kEpFail, [&] { catalog.Register(FakePlugin::Query, 0); });
  }

  FakePlugin& fake_;
  CatalogOptions hermetic_;
};

TEST_F(OptionsOfAPlugin, AreKnownOnceItIsLoaded) {
  ASSERT_TRUE(Options());
  ASSERT_EQ(Options()->size(), 1u);
  EXPECT_EQ(Options()->at(0).name, "precision");
  fake_.options.clear();
  ASSERT_TRUE(Options());
  EXPECT_TRUE(Options()->empty()) << "it says that it takes none";
}

TEST_F(OptionsOfAPlugin, AreUnknownWithoutTheExtension) {
  fake_.options_table = nullptr;
  EXPECT_FALSE(Options());
  fake_.descriptor.GetExtension = nullptr;
  EXPECT_FALSE(Options());
}

TEST_F(OptionsOfAPlugin, AWrongDeclarationRefusesThePluginWithTheOptionsName) {
  fake_.options[0].default_value = nullptr;
  EXPECT_THAT(Refused(), AllOf(HasSubstr("InitFailed: GetOptions: option 'precision' has no default"),
                               HasSubstr("report this to the plugin's vendor")));
}

TEST_F(OptionsOfAPlugin, AWrongTableRefusesThePlugin) {
  EpOptionsApi table = test::fake_calls::kOptionsApi;
  fake_.options_table = &table;
  table.struct_size = 4;
  EXPECT_THAT(Refused(), HasSubstr("the table of ep.options/1 is malformed: EpOptionsApi::struct_size is 4"));
  table = {sizeof table, 0, nullptr};
  EXPECT_THAT(Refused(), HasSubstr("EpOptionsApi::GetOptions is null"));
  table = {sizeof table, 0, [](EpPlugin*, const EpOptionInfo**, uint32_t, uint32_t* count) -> EpStatus* {
             *count = 257;
             return nullptr;
           }};
  EXPECT_THAT(Refused(), HasSubstr("it reports 257 options; at most 256 are possible"));
  table = {sizeof table, 0, [](EpPlugin*, const EpOptionInfo**, uint32_t, uint32_t*) {
             return test::fake_calls::CreateStatus(EP_STATUS_FAIL, "no table found");
           }};
  EXPECT_THAT(Refused(), HasSubstr("GetOptions failed: no table found"));
}

TEST_F(OptionsOfAPlugin, AnExceptionThatEscapesRefusesThePlugin) {
  fake_.on_call = [](const char* call) {
    if (std::string_view(call) == "GetOptions") throw std::runtime_error("out of tables");
  };
  EXPECT_THAT(Refused(), HasSubstr("GetOptions let a C++ exception escape: out of tables"));
}

}  // namespace
}  // namespace epiphyte::core
