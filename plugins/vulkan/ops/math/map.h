// Map: dispatches that compute each element of a result from one element of each operand, with broadcasting.
// Neighbouring dimensions are joined. An invocation computes four elements if the innermost dimension allows it.
//
//     const Dims out = kit::BroadcastShape(a, b);
//     const int32_t y = r.Output(0, type, out);
//     AddElementwise(r, type, {MapOp::kAdd}, {{{r.InputTensor(0), a}, {r.InputTensor(1), b}}}, y, out);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/vulkan/ops/math/map_op.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

struct MapOperand {
  int32_t tensor = -1;
  Dims dims;  // dimensions that broadcast to the result's; they may differ from the tensor's but have as many elements
};

// Largest number of operands of a shader that includes map.glsl.
inline constexpr size_t kMostMapOperands = 8;

// How map.glsl walks the operands: its constants and words of p[].
struct MapLayout {
  uint32_t invocations = 0;
  uint32_t width = 1;          // elements of an invocation
  uint32_t splat = 0;          // bit k: an invocation reads one element of operand k
  bool flat = true;            // a single axis is left
  std::vector<uint32_t> rows;  // words of each axis, innermost first; none if flat
};
// `slots` is INPUTS of map.glsl; slots without an operand are not read. `fours`: an invocation may compute four
// elements.
MapLayout LayOutMap(const Dims& out, std::span<const MapOperand> operands, size_t slots, bool fours);

// A shader that includes map.glsl. Its buffers 1, 2, … are the operands and then y. `parameters` are its own words of
// p[], `specialization` its constants from 3 on. `fours`: an invocation can compute four elements.
struct MapShader {
  std::string name;
  size_t slots = 1;
  bool fours = true;
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> specialization;
};
void AddMap(Recording& r, MapShader shader, std::span<const MapOperand> operands, int32_t y, const Dims& out);

// A parameter of an operation, as the two words that a shader takes.
struct MapParameter {
  uint32_t low = 0;
  uint32_t high = 0;
  static MapParameter Of(float value) { return {Word(value), 0}; }
  static MapParameter Of(int64_t value) {
    return {Word(value), static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32)};
  }
  // `value` as a parameter for elements of the type.
  static MapParameter Of(EpElementType type, double value);
};

struct MapStep {
  MapOp op;
  MapParameter p0 = {};
  MapParameter p1 = {};
};
// Adds one operation on one or two operands with elements of `type`. A binary operation with one operand takes p0 as
// its right operand.
void AddElementwise(Recording& r, EpElementType type, const MapStep& step, std::span<const MapOperand> operands,
                    int32_t y, const Dims& out);

// Adds a program of the kit: several steps on several operands of a float type. A program that is too long for the
// shader runs step by step.
void AddProgram(Recording& r, EpElementType type, const kit::fuse::ElementwiseProgram& program,
                std::span<const MapOperand> operands, int32_t y, const Dims& out);

// Scale and zero point of quantised bytes, which stand for (stored - zero) * scale.
struct MapQuantization {
  float scale = 1;
  float zero = 0;
};
struct MapQuantizations {
  std::span<const MapQuantization> of_values;  // quantisations of the operands, then of y
  float low, high;                             // bounds of y
};
// Adds one operation on int8 or uint8 operands: they are dequantised, computed with as floats and quantised again.
void AddQuantizedElementwise(Recording& r, EpElementType type, const MapStep& step,
                             std::span<const MapOperand> operands, const MapQuantizations& quantizations, int32_t y,
                             const Dims& out);

// Size limits of a program that runs in one dispatch, for kit::fuse::FuseElementwise.
inline constexpr size_t kMostProgramOperands = 8;
inline constexpr size_t kMostProgramSteps = 16;

}  // namespace epiphyte::vulkan
