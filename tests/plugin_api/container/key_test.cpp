// Compatibility keys: a difference decides the verdict, and the reason names both sides.
#include "epiphyte/kit/container/key.hpp"

#include <gmock/gmock.h>

namespace epiphyte::test {
namespace {

using kit::CompatibilityKey;
using kit::ContextVerdict;
using kit::FieldOfKey;
using testing::HasSubstr;

CompatibilityKey Key(const char* driver, const char* chip, const char* cores) {
  CompatibilityKey key;
  key.Require("driver", driver, "driver {}")
      .Prefer("cores", cores, "{} cores", "it may be slower")
      .Require("chip", chip, "chip");
  return key;
}

TEST(CompatibilityKey, IsOneLineOfText) {
  EXPECT_EQ(Key("2.1", "N4", "8").ToText(), "driver=2.1;cores=8;chip=N4");
  EXPECT_EQ(CompatibilityKey().ToText(), "");
}

TEST(CompatibilityKey, ItsOwnTextIsOptimal) {
  for (const char* value : {"", "1", "a=b", "semi;colon", "100%", "%3B", "two\nlines", "\xC3\xA4\x7f"}) {
    const CompatibilityKey key = Key(value, "N4", "8");
    const ContextVerdict found = key.Compare(key.ToText());
    EXPECT_EQ(found.verdict, EP_CONTEXT_OPTIMAL) << value;
    EXPECT_EQ(found.reason, "");
    EXPECT_EQ(FieldOfKey(key.ToText(), "driver"), value);
    EXPECT_EQ(key.ToText().find('\n'), std::string::npos);
  }
}

TEST(CompatibilityKey, WhatDiffersDecidesAndIsNamed) {
  const CompatibilityKey here = Key("2.1", "N4", "8");
  const auto compare = [&](const char* made) { return here.Compare(made); };
  EXPECT_EQ(compare("driver=2.0;cores=8;chip=N4").verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(compare("driver=2.0;cores=8;chip=N4").reason,
            "it was made for driver 2.0, here it is driver 2.1; compile the model again");
  EXPECT_EQ(compare("driver=2.1;cores=4;chip=N4").verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_EQ(compare("driver=2.1;cores=4;chip=N4").reason,
            "it was made for 4 cores, here it is 8 cores; it may be slower");
  EXPECT_EQ(compare("driver=2.1;cores=8;chip=N5").reason,
            "it was made for chip N5, here it is chip N4; compile the model again");
}

TEST(CompatibilityKey, TheWorstDifferenceWins) {
  const CompatibilityKey here = Key("2.1", "N4", "8");
  EXPECT_THAT(here.Compare("driver=2.1;cores=4;chip=N5").reason, HasSubstr("chip N5"));
  EXPECT_THAT(here.Compare("driver=2.0;cores=4;chip=N5").reason, HasSubstr("driver 2.0"));
}

TEST(CompatibilityKey, WhatIsNotSaidDiffers) {
  const CompatibilityKey here = Key("2.1", "N4", "8");
  EXPECT_EQ(here.Compare("driver=2.1;chip=N4").verdict, EP_CONTEXT_PREFER_RECOMPILATION);
  EXPECT_EQ(here.Compare("cores=8;chip=N4").reason,
            "it doesn't say whether it was made for driver 2.1; compile the model again");
  EXPECT_EQ(here.Compare("").verdict, EP_CONTEXT_UNSUPPORTED);
}

TEST(CompatibilityKey, FieldsOfAnotherVersionAreNotLookedAt) {
  EXPECT_EQ(Key("2.1", "N4", "8").Compare("colour=red;driver=2.1;cores=8;chip=N4").verdict, EP_CONTEXT_OPTIMAL);
}

TEST(CompatibilityKey, WhatIsNoKeyIsRefused) {
  const CompatibilityKey here = Key("2.1", "N4", "8");
  for (const char* text :
       {"nonsense", ";", "driver=2.1;;chip=N4", "driver=2.1;driver=2.1;cores=8;chip=N4", "driver=%;cores=8;chip=N4",
        "driver=%3;cores=8;chip=N4", "driver=%3x;cores=8;chip=N4", "driver=2.1\n;cores=8;chip=N4", "\xff;=;;"}) {
    const ContextVerdict found = here.Compare(text);
    EXPECT_EQ(found.verdict, EP_CONTEXT_UNSUPPORTED) << text;
    EXPECT_THAT(found.reason, HasSubstr("compile the model again")) << text;
    EXPECT_EQ(FieldOfKey(text, "colour"), std::nullopt) << text;
  }
}

TEST(CompatibilityKey, AReasonIsOneLineWhateverAFileSays) {
  const ContextVerdict found = Key("2.1", "N4", "8").Compare("driver=a%0Ab;cores=8;chip=N4");
  EXPECT_EQ(found.verdict, EP_CONTEXT_UNSUPPORTED);
  EXPECT_EQ(found.reason.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace epiphyte::test
