#include "core/runtime/session_parts.h"

#include <gtest/gtest.h>

namespace epiphyte::core {
namespace {

TEST(ValueSpec, HasAnUnknownTypeWhereAModelHasNone) {
  Graph graph("g");
  const ValueSpec typed = ValueSpec::Of(*graph.AddInput("x", Type::Tensor(DataType::kFloat, Shape{Dim(2)})));
  EXPECT_EQ(typed.name, "x");
  EXPECT_EQ(typed.type->ToString(), "tensor(float)[2]");
  const ValueSpec untyped = ValueSpec::Of(*graph.AddInput("y", nullptr));
  ASSERT_NE(untyped.type, nullptr);
  EXPECT_EQ(untyped.type->kind(), EP_KIND_UNKNOWN);
}

}  // namespace
}  // namespace epiphyte::core
