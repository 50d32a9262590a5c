// Programs built from graphs: dispatches on tensors, shared memory, and values that the host already knows.
#include <gmock/gmock.h>

#include <cstring>

#include "plugins/vulkan/program/memory_plan.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<int64_t> IntsOf(const Program::Output& output) {
  std::vector<int64_t> values(output.host_data.size() / sizeof(int64_t));
  std::memcpy(values.data(), output.host_data.data(), output.host_data.size());
  return values;
}

TEST(ProgramBuilder, ANodeIsADispatchFromInputToOutput) {
  const Program program = ProgramOf(R"(graph "g"
in x: float[2,3]
y = Relu@14(x) : float[2,3]
out y
)",
                                    {FloatInput({2, 3})});
  ASSERT_THAT(program.dispatches, SizeIs(1));
  ASSERT_THAT(program.outputs, SizeIs(1));
  const Dispatch& relu = program.dispatches[0];
  EXPECT_EQ(relu.node, 0);
  EXPECT_EQ(program.tensors[static_cast<size_t>(relu.bindings.front().tensor)].place, Place::kInput);
  EXPECT_EQ(relu.bindings.back().tensor, program.outputs[0].tensor);
}

TEST(ProgramBuilder, AReshapeIsItsInputUnderAnotherShape) {
  const Program program = ProgramOf(R"(graph "g"
in x: float[2,3]
const shape: int64[1] = [6]
a = Relu@14(x) : float[2,3]
y = Reshape@13(a, shape) : float[6]
out y
)",
                                    {FloatInput({2, 3})});
  EXPECT_THAT(program.dispatches, SizeIs(1));
  const int32_t root = RootOf(program, program.outputs[0].tensor);
  EXPECT_EQ(root, program.dispatches[0].bindings.back().tensor);
  EXPECT_EQ(program.outputs[0].dims, Dims({6}));
}

TEST(ProgramBuilder, ShapeComputationsCostTheDeviceNothing) {
  const Program program = ProgramOf(R"(graph "g"
in x: float[-1,3]
const two: int64[1] = [2]
s = Shape@15(x) : int64[2]
y = Mul@14(s, two) : int64[2]
out y
)",
                                    {FloatInput({5, 3})});
  EXPECT_THAT(program.dispatches, IsEmpty());
  EXPECT_THAT(IntsOf(program.outputs[0]), ElementsAre(10, 6));
}

TEST(ProgramBuilder, WhatTheHostComputedIsALiteralOfTheDevice) {
  const Program program = ProgramOf(R"(graph "g"
in x: int64[-1]
s = Shape@15(x) : int64[1]
y = Add@14(x, s) : int64[-1]
out y
)",
                                    {{EP_TYPE_INT64, {3}, nullptr}});
  ASSERT_THAT(program.dispatches, SizeIs(1));
  int64_t literal = 0;
  ASSERT_GE(program.literals.size(), sizeof literal);
  std::memcpy(&literal, program.literals.data(), sizeof literal);
  EXPECT_EQ(literal, 3);
}

TEST(ProgramBuilder, WhatHasNoElementsIsNotComputed) {
  const Program program = ProgramOf(R"(graph "g"
in x: float[-1,3]
y = Relu@14(x) : float[-1,3]
out y
)",
                                    {FloatInput({0, 3})});
  EXPECT_THAT(program.dispatches, IsEmpty());
  EXPECT_EQ(program.outputs[0].dims, Dims({0, 3}));
}

TEST(ProgramBuilder, TheSameInputsGiveTheSameProgram) {
  const char* const text = R"(graph "g"
in x: float[4,8]
const w: float[8,2] = [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]
a = MatMul@13(x, w) : float[4,2]
y = Softmax@13(a) : float[4,2]
out y
)";
  const Program a = ProgramOf(text, {FloatInput({4, 8})});
  const Program b = ProgramOf(text, {FloatInput({4, 8})});
  ASSERT_EQ(a.dispatches.size(), b.dispatches.size());
  for (size_t i = 0; i < a.dispatches.size(); ++i) {
    EXPECT_EQ(a.dispatches[i].shader, b.dispatches[i].shader);
    EXPECT_EQ(a.dispatches[i].parameters, b.dispatches[i].parameters);
  }
  EXPECT_EQ(a.literals, b.literals);
}

TEST(ProgramBuilder, MoreThanABufferHoldsIsAnErrorWithSizes) {
  const char* const text = R"(graph "g"
in x: float[-1,1024]
y = Relu@14(x) : float[-1,1024]
out y
)";
  EXPECT_THAT(MessageOf([&] { ProgramOf(text, {FloatInput({int64_t{1} << 20, 1024})}); }),
              HasSubstr("takes 4294967296 bytes, one buffer of the device holds 134217728"));
}

TEST(ProgramBuilder, ErrorsNameTheNode) {
  const char* const text = R"(graph "g"
in x: float[-1,-1]
const shape: int64[1] = [7]
[reshape_1] y = Reshape@13(x, shape) : float[7]
out y
)";
  EXPECT_THAT(MessageOf([&] { ProgramOf(text, {FloatInput({2, 3})}); }), HasSubstr("node 'reshape_1' (Reshape): "));
}

TEST(ProgramBuilder, AResultOfAnotherShapeThanTheGraphSaysIsRefused) {
  const char* const text = R"(graph "g"
in x: float[-1]
y = Relu@14(x) : float[4]
out y
)";
  EXPECT_THAT(MessageOf([&] { ProgramOf(text, {FloatInput({5})}); }), HasSubstr("has shape [5], the graph says [4]"));
}

TEST(Choosing, TypesThatTheDeviceCannotHoldAreDeclinedWithTheReason) {
  const char* const half = R"(graph "g"
in x: float16[4]
y = Relu@14(x) : float16[4]
out y
)";
  const std::vector<ProgramInput> inputs = {{EP_TYPE_FLOAT16, {4}, nullptr}};
  EXPECT_EQ(MessageOf([&] { ProgramOf(half, inputs); }), "");
  EXPECT_THAT(MessageOf([&] { ProgramOf(half, inputs, PoorDevice()); }),
              HasSubstr("input 0 is of float16: the device has no storage16"));
  Capabilities disabled = GoodDevice();
  disabled.Disable(Capability::kStorage16);
  EXPECT_THAT(MessageOf([&] { ProgramOf(half, inputs, disabled); }),
              HasSubstr("storage16 is turned off by option 'disable'"));
}

TEST(Choosing, IntegersOf64BitsAreMovedByAnyDeviceAndComputedByThoseThatCan) {
  const std::vector<ProgramInput> inputs = {{EP_TYPE_INT64, {2, 3}, nullptr}};
  EXPECT_EQ(MessageOf([&] {
              ProgramOf(R"(graph "g"
in x: int64[2,3]
y = Transpose@13(x) : int64[3,2]
out y
)",
                        inputs, PoorDevice());
            }),
            "");
  EXPECT_THAT(MessageOf([&] {
                ProgramOf(R"(graph "g"
in x: int64[2,3]
y = Add@14(x, x) : int64[2,3]
out y
)",
                          inputs, PoorDevice());
              }),
              HasSubstr("int64 can't be computed with: the device has no int64"));
}

TEST(Choosing, ElementsThatAShapeDependsOnMustBeKnown) {
  const char* const text = R"(graph "g"
in x: float[-1]
in shape: int64[2]
y = Reshape@13(x, shape) : float[-1,-1]
out y
)";
  EXPECT_EQ(MessageOf([&] { ProgramOf(text, {FloatInput({6}), IntsInput({2, 3})}); }), "");
  EXPECT_THAT(MessageOf([&] { ProgramOf(text, {FloatInput({6}), {EP_TYPE_INT64, {2}, nullptr}}); }),
              HasSubstr("input 1 is computed on the device, and the host needs its elements before"));
}

TEST(Choosing, AValueLargerThanABufferIsDeclined) {
  const char* const text = R"(graph "g"
in x: float[1]
in w: float[65536,1024]
y = Add@14(x, w) : float[65536,1024]
out y
)";
  EXPECT_THAT(MessageOf([&] { ProgramOf(text, {FloatInput({1}), FloatInput({65536, 1024})}); }),
              HasSubstr("input 1 takes 268435456 bytes, one buffer of the device holds 134217728"));
}

TEST(OperatorTable, TwoOfOneNameVersionAndTypeAreRefused) {
  OperatorTable table;
  table.Add({.op_type = "Relu", .types = kDeviceFloats});
  table.Add({.op_type = "Relu", .types = kDeviceIntegers});
  EXPECT_THAT(MessageOf([&] { table.Add({.op_type = "Relu", .first_version = 14}); }),
              HasSubstr("operator Relu is there twice for float or float16"));
}

}  // namespace
}  // namespace epiphyte::vulkan
