// QueuePlan: remaining readers of a value, which decide whether a device kernel can write over it.
#include "core/runtime/queue_plan.h"

#include <gtest/gtest.h>

namespace epiphyte::test {
namespace {

using core::DataType;
using core::Value;

// A frame keeps the device copy of a constant between runs. A kernel that wrote over such an input would change what
// the next run reads.
TEST(QueuePlan, ConstantsAndOutputsAreWantedToTheEndOthersByTheirReaders) {
  core::PlanTables tables;
  tables.slot_count = 3;
  tables.constants.emplace_back(0, Value::Tensor(DataType::kFloat, std::vector<int64_t>{1}));
  tables.outputs.push_back(1);
  tables.output_names.push_back("y");
  const core::PlanTools tools;
  const core::QueuePlan plan(tables, tools);
  EXPECT_TRUE(plan.IsReadFrom(0, 1000));
  EXPECT_TRUE(plan.IsReadFrom(1, 1000));
  EXPECT_FALSE(plan.IsReadFrom(2, 0));
}

}  // namespace
}  // namespace epiphyte::test
