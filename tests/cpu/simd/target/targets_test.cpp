// The available instruction sets, and the choice of one by name.
#include "plugins/cpu/simd/target/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "plugins/cpu/simd/reduce/normalize.h"

namespace epiphyte::cpu::simd {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsSubsetOf;
using testing::Not;
using testing::ThrowsMessage;

TEST(SimdTargets, TheBestSupportedOneIsChosen) {
  EXPECT_THAT(SupportedTargets(), IsSubsetOf(CompiledTargets()));
  EXPECT_THAT(CompiledTargets(), Not(Each("Unknown")));
  EXPECT_EQ(ChosenTarget(), SupportedTargets().front());
}

TEST(SimdTargets, AChoiceHoldsAsLongAsItLives) {
  const std::string before = ChosenTarget();
  for (const std::string& target : SupportedTargets()) {
    const TargetChoice choice(target);
    EXPECT_EQ(ChosenTarget(), target);
  }
  EXPECT_EQ(ChosenTarget(), before);
}

TEST(SimdTargets, EachHasLoopsOfItsOwn) {
  const std::vector<std::string> targets = SupportedTargets();
  if (targets.size() < 2) GTEST_SKIP() << "there is " << targets.front() << " only";
  std::vector<const NormalizeLoops*> loops;
  for (const std::string& target : targets) {
    const TargetChoice choice(target);
    EXPECT_THAT(loops, Not(testing::Contains(&ChosenNormalizeLoops())));
    loops.push_back(&ChosenNormalizeLoops());
  }
}

TEST(SimdTargets, OneThatIsNotSupportedIsRefused) {
  EXPECT_THAT([] { TargetChoice choice("Z80"); },
              ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr("Z80"), HasSubstr(ChosenTarget()))));
}

}  // namespace
}  // namespace epiphyte::cpu::simd
