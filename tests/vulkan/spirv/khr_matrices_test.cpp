// Translation of NVIDIA's cooperative matrix instructions in SPIR-V modules into those of KHR.
#include "plugins/vulkan/spirv/khr_matrices.h"

#include <gmock/gmock.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

using Words = std::vector<uint32_t>;

Words Instruction(uint32_t opcode, const Words& operands) {
  Words words = {opcode | static_cast<uint32_t>(operands.size() + 1) << 16};
  words.insert(words.end(), operands.begin(), operands.end());
  return words;
}

Words Text(const std::string& text) {
  Words words(text.size() / 4 + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

constexpr uint32_t kBound = 100;

Words Module(const std::vector<Words>& instructions, uint32_t bound = kBound) {
  Words module = {0x07230203, 0x00010300, 0, bound, 0};
  for (const Words& each : instructions) module.insert(module.end(), each.begin(), each.end());
  return module;
}

// Ids in the modules below.
constexpr uint32_t kUint = 1, kHalf = 2, kFloat = 3, kScope = 4, kM = 5, kN = 6, kK = 7, kTrue = 8, kFalse = 9;
constexpr uint32_t kBool = 10, kLeft = 11, kRight = 12, kSum = 13, kHalfSum = 14, kPointer = 20, kStride = 21,
                   kMask = 2;

const Words kConstants = [] {
  Words all;
  for (const Words& each :
       {Instruction(43, {kUint, kScope, 3}), Instruction(50, {kUint, kM, 16}), Instruction(50, {kUint, kN, 16}),
        Instruction(50, {kUint, kK, 16}), Instruction(41, {kBool, kTrue}), Instruction(42, {kBool, kFalse})})
    all.insert(all.end(), each.begin(), each.end());
  return all;
}();

const Words kLeftType = Instruction(5358, {kLeft, kHalf, kScope, kM, kK});
const Words kRightType = Instruction(5358, {kRight, kHalf, kScope, kK, kN});
const Words kSumType = Instruction(5358, {kSum, kFloat, kScope, kM, kN});

// A module with NVIDIA's types, and the module that it is translated into.
Words WithTypes(const Words& instruction) { return Module({kConstants, kSumType, kRightType, kLeftType, instruction}); }
Words WithKhrTypes(const Words& instruction) {
  return Module({kConstants, Instruction(43, {kUint, kBound, 0}), Instruction(43, {kUint, kBound + 1, 1}),
                 Instruction(43, {kUint, kBound + 2, 2}), Instruction(4456, {kSum, kFloat, kScope, kM, kN, kBound + 2}),
                 Instruction(4456, {kRight, kHalf, kScope, kK, kN, kBound + 1}),
                 Instruction(4456, {kLeft, kHalf, kScope, kM, kK, kBound}), instruction},
                kBound + 3);
}

std::string MessageOf(const Words& module) {
  try {
    ToKhrMatrices(module);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(KhrMatrices, TypesSayWhatTheyAreFor) { EXPECT_EQ(ToKhrMatrices(WithTypes({})), WithKhrTypes({})); }

TEST(KhrMatrices, SumsOfAnyTypeAreSums) {
  const Words half = Instruction(5358, {kHalfSum, kHalf, kScope, kM, kN});
  EXPECT_EQ(ToKhrMatrices(WithTypes(half)),
            WithKhrTypes(Instruction(4456, {kHalfSum, kHalf, kScope, kM, kN, kBound + 2})));
}

TEST(KhrMatrices, LoadsAndStoresHaveTheirLayoutFirst) {
  EXPECT_EQ(ToKhrMatrices(WithTypes(Instruction(5359, {kLeft, 30, kPointer, kStride, kFalse, kMask, kScope}))),
            WithKhrTypes(Instruction(4457, {kLeft, 30, kPointer, kBound, kStride, kMask, kScope})));
  EXPECT_EQ(ToKhrMatrices(WithTypes(Instruction(5359, {kRight, 30, kPointer, kStride, kTrue}))),
            WithKhrTypes(Instruction(4457, {kRight, 30, kPointer, kBound + 1, kStride})));
  EXPECT_EQ(ToKhrMatrices(WithTypes(Instruction(5360, {kPointer, 30, kStride, kTrue, kMask, kScope}))),
            WithKhrTypes(Instruction(4458, {kPointer, 30, kBound + 1, kStride, kMask, kScope})));
}

TEST(KhrMatrices, ProductsAndLengthsStayAsTheyAre) {
  EXPECT_EQ(ToKhrMatrices(WithTypes(Instruction(5361, {kSum, 33, 30, 31, 32}))),
            WithKhrTypes(Instruction(4459, {kSum, 33, 30, 31, 32})));
  EXPECT_EQ(ToKhrMatrices(WithTypes(Instruction(5362, {kUint, 30, kSum}))),
            WithKhrTypes(Instruction(4460, {kUint, 30, kSum})));
}

TEST(KhrMatrices, CapabilityAndExtensionAreKhrs) {
  EXPECT_EQ(ToKhrMatrices(Module({Instruction(17, {9}), Instruction(17, {5357}),
                                  Instruction(10, Text("SPV_NV_cooperative_matrix")),
                                  Instruction(10, Text("SPV_KHR_vulkan_memory_model"))})),
            Module({Instruction(17, {9}), Instruction(17, {6022}), Instruction(10, Text("SPV_KHR_cooperative_matrix")),
                    Instruction(10, Text("SPV_KHR_vulkan_memory_model"))}));
}

TEST(KhrMatrices, AModuleWithoutThemStaysAsItIs) {
  const Words module = Module({Instruction(17, {1}), kConstants});
  EXPECT_THAT(ToKhrMatrices(module), ElementsAreArray(module));
}

TEST(KhrMatrices, NonConstantSizesAndLayoutsAreErrors) {
  EXPECT_THAT(MessageOf(Module({kConstants, Instruction(5358, {kLeft, kHalf, kScope, kM, kM})})),
              HasSubstr("the three sizes of products need a constant each"));
  EXPECT_THAT(MessageOf(WithTypes(Instruction(5359, {kLeft, 30, kPointer, kStride, 77}))),
              HasSubstr("whether a matrix lies by columns is no constant"));
  EXPECT_THAT(MessageOf(Module({kLeftType})), HasSubstr("the scope of a matrix is no constant"));
}

TEST(KhrMatrices, WhatIsNoModuleIsAnError) {
  EXPECT_THAT(MessageOf({}), HasSubstr("no SPIR-V module"));
  EXPECT_THAT(MessageOf({1, 2, 3, 4, 5}), HasSubstr("no SPIR-V module"));
  EXPECT_THAT(MessageOf(Module({{0}})), HasSubstr("the instruction at word 5 does not end in the module"));
  EXPECT_THAT(MessageOf(Module({{17 | 3u << 16, 1}})), HasSubstr("does not end in the module"));
  for (const uint32_t opcode : {17u, 43u, 41u, 5358u, 5359u, 5360u})
    EXPECT_THAT(MessageOf(Module({Instruction(opcode, {})})), HasSubstr("has 1 words")) << opcode;
}

}  // namespace
}  // namespace epiphyte::vulkan
