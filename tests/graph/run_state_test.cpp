// Memory limit of a run: a value is counted as a whole or not at all.
#include "core/graph/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/base/error.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::RunState;
using core::Value;
using core::ValuePtr;
using testing::HasSubstr;

constexpr std::array<int64_t, 1> kNoElements = {0};

// Returns the bytes that one tensor takes besides its data.
uint64_t Overhead() {
  RunState run;
  run.TakeTensor(0);
  return run.used();
}

TEST(RunState, ATensorThatIsRefusedForItsOverheadIsNotCounted) {
  RunState run({.run_bytes = 1000 + Overhead() - 1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(FailureOf([&] { run.TakeTensor(1000); }),
                HasSubstr(std::to_string(1000 + Overhead()) + " more bytes are needed where the run uses 0 already"));
    EXPECT_EQ(run.used(), 0u);
  }
  run.TakeTensor(999);
  EXPECT_EQ(run.used(), 999 + Overhead());
}

TEST(RunState, ATensorThatIsRefusedForItsDataIsNotCounted) {
  RunState run({.value_bytes = 100});
  EXPECT_NE(FailureOf([&] { run.TakeTensor(101); }), "OK");
  EXPECT_EQ(run.used(), 0u);
}

TEST(RunState, TheLargestLimitDoesNotOverflow) {
  RunState run;
  EXPECT_THAT(FailureOf([&] { run.TakeTensor(UINT64_MAX - 5); }), HasSubstr("18446744073709551615 more bytes"));
  EXPECT_EQ(run.used(), 0u);
}

TEST(RunState, WhatIsDroppedIsCountedNoLonger) {
  RunState run;
  ValuePtr value = Value::Tensor(DataType::kFloat, kNoElements, &run);
  EXPECT_EQ(run.used(), Overhead());
  run.Drop(value);
  EXPECT_EQ(run.used(), 0u);
}

}  // namespace
}  // namespace epiphyte::test
