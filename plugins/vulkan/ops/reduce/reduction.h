// Reduction: reduces some dimensions of a tensor, for the reductions of ONNX, global pools and statistics.
//
//     const int32_t mean = r.Scratch(EP_TYPE_FLOAT, kit::ReducedDims(x, mask, true));
//     AddReduction(r, {.finish = Reduction::Finish::kMean}, r.InputTensor(0), x, mask, mean);
//
// Few long reductions are divided into parts that a second dispatch reduces, or among the invocations of a subgroup.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vulkan/ops/recording.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {

// The enumerators' numbers are specialization constants of shaders/reduce.comp.
struct Reduction {
  enum class Combine : uint32_t {
    kSum = shader::kCombineSum,
    kProduct = shader::kCombineProduct,
    kMaximum = shader::kCombineMaximum,
    kMinimum = shader::kCombineMinimum,
  };
  enum class Load : uint32_t {
    kPlain = shader::kLoadPlain,
    kMagnitude = shader::kLoadMagnitude,
    kSquare = shader::kLoadSquare,
    kExpShifted = shader::kLoadExpShifted,
    kSquareShifted = shader::kLoadSquareShifted,
  };
  enum class Finish : uint32_t {
    kNothing = shader::kFinishNothing,
    kMean = shader::kFinishMean,
    kRoot = shader::kFinishRoot,
    kLog = shader::kFinishLog,
    kLogShifted = shader::kFinishLogShifted,
    kRootMean = shader::kFinishRootMean,
    kFinite = shader::kFinishFinite,
  };
  Combine combine = Combine::kSum;
  Load load = Load::kPlain;
  Finish finish = Finish::kNothing;
};

// Reduces tensor x, viewed in shape `dims`, to tensor y, over the dimensions that `reduced` marks. y has the type of x,
// or is float if x is float16. `shift` is a float tensor with as many elements as y; -1: none is needed.
void AddReduction(Recording& r, const Reduction& reduction, int32_t x, const Dims& dims,
                  const std::vector<bool>& reduced, int32_t y, int32_t shift = -1);

}  // namespace epiphyte::vulkan
