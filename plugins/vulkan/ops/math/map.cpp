#include "plugins/vulkan/ops/math/map.h"

#include <algorithm>
#include <array>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/vulkan/ops/divisor.h"

namespace epiphyte::vulkan {
namespace {

using kit::fuse::ElementwiseProgram;

constexpr uint32_t kFours = 4;

// Appends the parameters of a division by `size`: see Quotient in divide.glsl.
void AppendDivision(std::vector<uint32_t>& rows, uint32_t size) {
  const Divisor by(size);
  rows.insert(rows.end(), {size, by.multiplier, by.shift});
}

// Whether map.glsl has vectors of four for a type.
bool HasFours(EpElementType type) { return kit::ElementBytes(type, 1) < 8; }

uint32_t CodeOf(MapOp op, size_t a, size_t b) {
  return static_cast<uint32_t>(op) | static_cast<uint32_t>(a) << 8 | static_cast<uint32_t>(b) << 16;
}

void AppendParameter(std::vector<uint32_t>& words, const MapParameter& parameter) {
  words.insert(words.end(), {parameter.low, parameter.high});
}

// Adds the program as one dispatch a step, with a tensor for each intermediate result.
void AddStepByStep(Recording& r, EpElementType type, const ElementwiseProgram& program,
                   std::span<const MapOperand> operands, int32_t y, const Dims& out) {
  std::vector<MapOperand> results;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const ElementwiseProgram::Instruction& instruction = program.instructions[i];
    const auto operand = [&](int32_t reference) -> MapOperand {
      const auto index = static_cast<size_t>(reference / 2);
      if (reference >= 0) return reference % 2 == 0 ? operands[index] : results[index];
      const HostTensor number = {.type = type, .dims = {}, .ints = {}, .floats = {instruction.p0}};
      return {r.Literal(type, {}, BytesOf(number).data()), {}};
    };
    std::vector<MapOperand> taken = {operand(instruction.a)};
    if (IsBinary(instruction.op)) taken.push_back(operand(instruction.b));
    const bool last = i + 1 == program.instructions.size();
    const Dims dims = last ? out : kit::BroadcastShape(taken.front().dims, taken.back().dims);
    const int32_t to = last ? y : r.Scratch(type, dims);
    const MapParameter p0 = MapParameter::Of(instruction.p0), p1 = MapParameter::Of(instruction.p1);
    AddElementwise(r, type, {static_cast<MapOp>(instruction.op), p0, p1}, taken, to, dims);
    results.push_back({to, dims});
  }
}

}  // namespace

MapLayout LayOutMap(const Dims& out, std::span<const MapOperand> operands, size_t slots, bool fours) {
  const Dims scalar;
  std::array<const Dims*, kMostMapOperands> shapes;
  shapes.fill(&scalar);
  if (operands.size() > slots || slots > shapes.size())
    kit::FailWith(EP_STATUS_FAIL, operands.size(), " operands for a shader that takes ", slots);
  for (size_t k = 0; k < operands.size(); ++k) shapes[k] = &operands[k].dims;
  const kit::BroadcastLoop<kMostMapOperands> loop(out, shapes);
  const std::span<const int64_t> sizes = loop.sizes();

  MapLayout layout;
  layout.flat = sizes.size() == 1;
  layout.width = fours && sizes[0] % kFours == 0 ? kFours : 1;
  if (layout.flat || layout.width > 1)
    for (size_t k = 0; k < operands.size(); ++k)
      if (loop.Stride(0, k) == 0) layout.splat |= 1u << k;
  layout.invocations = static_cast<uint32_t>(loop.count() / layout.width);
  if (layout.flat) return layout;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    AppendDivision(layout.rows, static_cast<uint32_t>(axis == 0 ? sizes[axis] / layout.width : sizes[axis]));
    for (size_t k = 0; k < slots; ++k) {
      const int64_t stride = loop.Stride(axis, k);
      // An operand that is read in vectors of four spans the innermost axis, so its outer strides are multiples of
      // four.
      const bool by_fours = layout.width > 1 && (layout.splat >> k & 1) == 0;
      layout.rows.push_back(Word(by_fours && axis > 0 ? stride / layout.width : stride));
    }
  }
  return layout;
}

void AddMap(Recording& r, MapShader shader, std::span<const MapOperand> operands, int32_t y, const Dims& out) {
  if (out.Count() == 0) return;
  MapLayout layout = LayOutMap(out, operands, shader.slots, shader.fours);
  const size_t axes = layout.flat ? 0 : layout.rows.size() / (3 + shader.slots);
  Dispatch dispatch;
  dispatch.shader = std::move(shader.name);
  dispatch.specialization = {layout.width, layout.flat ? 1u : 0u, layout.splat};
  dispatch.specialization.insert(dispatch.specialization.end(), shader.specialization.begin(),
                                 shader.specialization.end());
  dispatch.parameters = {layout.invocations, static_cast<uint32_t>(axes)};
  dispatch.parameters.insert(dispatch.parameters.end(), shader.parameters.begin(), shader.parameters.end());
  dispatch.parameters.insert(dispatch.parameters.end(), layout.rows.begin(), layout.rows.end());
  // A slot without an operand is not read, but its binding must be valid.
  for (size_t k = 0; k < shader.slots; ++k)
    dispatch.bindings.push_back(Recording::ReadTensor(operands[std::min(k, operands.size() - 1)].tensor));
  dispatch.bindings.push_back(Recording::Write(y));
  dispatch.groups = r.GroupsFor(layout.invocations);
  r.Add(std::move(dispatch));
}

MapParameter MapParameter::Of(EpElementType type, double value) {
  if (kit::Contains(kDeviceFloats, type)) return Of(static_cast<float>(value));
  return Of(static_cast<int64_t>(value));
}

void AddElementwise(Recording& r, EpElementType type, const MapStep& step, std::span<const MapOperand> operands,
                    int32_t y, const Dims& out) {
  const size_t slots = operands.size();
  // The parameter's register is the one after the step's result.
  const size_t b = slots > 1 ? 1 : slots + 1;
  MapShader shader{.name = Recording::ShaderFor(MakesBool(step.op) ? (slots > 1 ? "compare2" : "compare1")
                                                                   : (slots > 1 ? "elementwise2" : "elementwise1"),
                                                type),
                   .slots = slots,
                   .fours = HasFours(type),
                   .parameters = {},
                   .specialization = {1, static_cast<uint32_t>(slots), CodeOf(step.op, 0, b)}};
  AppendParameter(shader.parameters, step.p0);
  AppendParameter(shader.parameters, step.p1);
  AddMap(r, std::move(shader), operands, y, out);
}

void AddQuantizedElementwise(Recording& r, EpElementType type, const MapStep& step,
                             std::span<const MapOperand> operands, const MapQuantizations& quantizations, int32_t y,
                             const Dims& out) {
  const size_t slots = operands.size();
  MapShader shader{.name = Recording::ShaderFor(slots > 1 ? "elementwise_quantized2" : "elementwise_quantized1", type),
                   .slots = slots,
                   .fours = true,
                   .parameters = {},
                   .specialization = {1, static_cast<uint32_t>(slots), CodeOf(step.op, 0, slots > 1 ? 1 : slots + 1)}};
  AppendParameter(shader.parameters, step.p0);
  AppendParameter(shader.parameters, step.p1);
  for (const MapQuantization& quantization : quantizations.of_values)
    shader.parameters.insert(shader.parameters.end(), {Word(quantization.scale), Word(quantization.zero)});
  shader.parameters.insert(shader.parameters.end(), {Word(quantizations.low), Word(quantizations.high)});
  AddMap(r, std::move(shader), operands, y, out);
}

void AddProgram(Recording& r, EpElementType type, const ElementwiseProgram& program,
                std::span<const MapOperand> operands, int32_t y, const Dims& out) {
  const size_t steps = program.instructions.size();
  const bool fits =
      operands.size() <= kMostProgramOperands && steps <= kMostProgramSteps && r.Binds(kMostProgramOperands + 1);
  if (!fits) return AddStepByStep(r, type, program, operands, y, out);
  constexpr size_t kParameterRegister = kMostProgramOperands + kMostProgramSteps;
  MapShader shader{.name = Recording::ShaderFor("elementwise_chain", type),
                   .slots = kMostProgramOperands,
                   .fours = true,
                   .parameters = {},
                   .specialization = {static_cast<uint32_t>(steps), static_cast<uint32_t>(operands.size())}};
  for (const ElementwiseProgram::Instruction& instruction : program.instructions) {
    const auto at = [](int32_t reference) -> size_t {
      if (reference < 0) return kParameterRegister;
      const auto index = static_cast<size_t>(reference / 2);
      return reference % 2 == 0 ? index : kMostProgramOperands + index;
    };
    shader.specialization.push_back(CodeOf(static_cast<MapOp>(instruction.op), at(instruction.a), at(instruction.b)));
    AppendParameter(shader.parameters, MapParameter::Of(instruction.p0));
    AppendParameter(shader.parameters, MapParameter::Of(instruction.p1));
  }
  shader.parameters.resize(kMostProgramSteps * 4);
  AddMap(r, std::move(shader), operands, y, out);
}

}  // namespace epiphyte::vulkan
