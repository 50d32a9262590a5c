// Map: dispatches that compute each element of a result of one element of each operand, with broadcasting. Neighbouring
// dimensions are joined, and where the innermost one allows it an invocation computes four elements.
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

// Operands of a shader that includes map.glsl, at most.
inline constexpr size_t kMostMapOperands = 8;

// How operands are walked: what map.glsl takes. `slots`: its INPUTS; those that no operand takes are left unread.
struct MapLayout {
  uint32_t invocations = 0;
  uint32_t width = 1;  // elements of an invocation
  uint32_t splat = 0;  // bit k: an invocation reads one element of operand k
  bool flat = true;
  std::vector<uint32_t> rows;
};
MapLayout LayOutMap(const Dims& out, std::span<const MapOperand> operands, size_t slots, bool fours);

// A dispatch of a shader that includes map.glsl: operands, then y, are its buffers 1, 2, …; `parameters` are its own
// words, `specialization` its constants from 3 on. `fours`: it can compute four elements an invocation.
struct MapShader {
  std::string name;
  size_t slots = 1;
  bool fours = true;
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> specialization;
};
void AddMap(Recording& r, MapShader shader, std::span<const MapOperand> operands, int32_t y, const Dims& out);

// A parameter as the words that a shader of elements of a type takes.
struct MapParameter {
  uint32_t low = 0;
  uint32_t high = 0;
  static MapParameter Of(float value) { return {Word(value), 0}; }
  static MapParameter Of(int64_t value) {
    return {Word(value), static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32)};
  }
  // `value` as a parameter of elements of the type.
  static MapParameter Of(EpElementType type, double value);
};

struct MapStep {
  MapOp op;
  MapParameter p0 = {};
  MapParameter p1 = {};
};
// One operation of one or two operands, elements of `type`. A binary operation with one operand has p0 for the other:
// on the right.
void AddElementwise(Recording& r, EpElementType type, const MapStep& step, std::span<const MapOperand> operands,
                    int32_t y, const Dims& out);

// A program of the kit's: several steps on several operands, of float types. Programs that are longer than the shader
// takes run step by step.
void AddProgram(Recording& r, EpElementType type, const kit::fuse::ElementwiseProgram& program,
                std::span<const MapOperand> operands, int32_t y, const Dims& out);

// How bytes map to numbers: (stored - zero) * scale.
struct MapQuantization {
  float scale = 1;
  float zero = 0;
};
struct MapQuantizations {
  std::span<const MapQuantization> of_values;  // the operands, then y
  float low, high;                             // bounds of y
};
// The same on bytes, int8 or uint8, that are dequantised, computed with as floats and quantised again.
void AddQuantizedElementwise(Recording& r, EpElementType type, const MapStep& step,
                             std::span<const MapOperand> operands, const MapQuantizations& quantizations, int32_t y,
                             const Dims& out);

// Size limits of a program that runs in one dispatch, for kit::fuse::FuseElementwise.
inline constexpr size_t kMostProgramOperands = 8;
inline constexpr size_t kMostProgramSteps = 16;

}  // namespace epiphyte::vulkan
