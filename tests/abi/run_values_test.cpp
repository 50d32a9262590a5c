// Value handles that a kernel passes back: the host finds those of the current run and refuses all others.
#include "core/abi/run_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/framework/test_session.h"

namespace epiphyte::core {
namespace {

using test::FailureOf;
using testing::HasSubstr;

const std::vector<int64_t> kOne = {1};
ValuePtr AValue() { return Value::Tensor(DataType::kFloat, kOne); }

// A value that counts in `gone` when it is destroyed.
ValuePtr Watched(float* memory, int* gone) {
  return Value::Wrap(DataType::kFloat, kOne, memory, sizeof(float), [gone] { ++*gone; });
}

TEST(RunValues, HoldsAnyNumberOfReferencesUntilEachIsReleased) {
  float memory = 0;
  int gone = 0;
  RunValues run({});
  std::vector<EpValue*> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(run.Give(Watched(&memory, &gone)));
  for (EpValue* handle : handles) EXPECT_NE(run.Get(handle), nullptr);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(RunValues::Release(handles[i]));
    EXPECT_EQ(gone, i + 1);
  }
}

TEST(RunValues, CountsReferencesToOneValue) {
  float memory = 0;
  int gone = 0;
  ValuePtr value = Watched(&memory, &gone);
  for (const int references : {3, 30}) {
    RunValues run({});
    EpValue* handle = nullptr;
    for (int i = 0; i < references; ++i) handle = run.Give(value);
    for (int i = 0; i < references; ++i) EXPECT_TRUE(RunValues::Release(handle));
    EXPECT_FALSE(RunValues::Release(handle)) << "the value lives on, but the run holds it no more";
    EXPECT_THAT(FailureOf([&] { run.Get(handle); }), HasSubstr("was released before"));
    EXPECT_EQ(gone, 0);
  }
}

TEST(RunValues, ReleasesWhatIsLeft) {
  float memory = 0;
  int gone = 0;
  {
    RunValues run({});
    for (int i = 0; i < 20; ++i) run.Give(Watched(&memory, &gone));
    EXPECT_EQ(gone, 0);
  }
  EXPECT_EQ(gone, 20);
}

TEST(RunValues, OfARunWithinARunAreTheInnerOnes) {
  RunValues outer({});
  EpValue* held = outer.Give(AValue());
  {
    RunValues inner({});
    EpValue* own = inner.Give(AValue());
    EXPECT_THAT(FailureOf([&] { inner.Get(held); }), HasSubstr("no value that this Execute made"));
    EXPECT_THAT(FailureOf([&] { outer.Get(own); }), HasSubstr("no value that this Execute made"));
    EXPECT_TRUE(RunValues::Release(own));
  }
  EXPECT_TRUE(RunValues::Release(held));
}

TEST(RunValues, FindsTheValuesOfInputsAndTheirElements) {
  std::vector<ValuePtr> elements;
  for (int i = 0; i < 40; ++i) elements.push_back(AValue());
  ValuePtr inner = Value::Sequence(DataType::kFloat, elements);
  ValuePtr nested = Value::Sequence(DataType::kUndefined, {inner});
  ValuePtr tensor = AValue();
  const std::vector<Value*> inputs = {nullptr, tensor.get(), nested.get()};
  RunValues run(inputs);
  EXPECT_EQ(run.Viewed(tensor->abi()), tensor.get());
  EXPECT_EQ(run.Viewed(inner->abi()), inner.get());
  for (const ValuePtr& element : elements) EXPECT_EQ(run.Viewed(element->abi()), element.get());
  const ValuePtr foreign = AValue();
  const EpValueView copy = *tensor->abi();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(FailureOf([&] { run.Viewed(foreign->abi()); }), HasSubstr("a view belongs to no input"));
    EXPECT_THAT(FailureOf([&] { run.Viewed(&copy); }), HasSubstr("a view belongs to no input"));
  }
}

}  // namespace
}  // namespace epiphyte::core
