// Lowering: from quantized ops (quantized_op.h) to operators of nsdk.h, by one table with a row for each ONNX operator.
//
//   FlatGraph graph("question");
//   Lowering lowering(editor, meanings, target, ConstantData::kLeftOut, graph);
//   lowering.Add(work);                        // throws Refused: "its axis is 1, and …"
//   graph.SetPortsOfOps();
//   for (uint32_t op = 0; op < graph.op_count(); ++op) why = context.WhyNot(graph.Get(), op);
//
// GetCapability's queries and the later compilation use the same code. The SDK itself says which operators it supports.
// Lowering refuses only ops that nsdk.h can't express.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/flat_graph.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

// A refusal. The message is one line for the placement report.
class Refused : public kit::Error {
 public:
  explicit Refused(std::string why) : Error(EP_STATUS_NOT_IMPLEMENTED, std::move(why)) {}
};
template <typename... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  throw Refused(kit::TextOf(parts...));
}

enum class ConstantData : uint8_t { kLeftOut, kGiven };

class Lowering {
 public:
  // All arguments outlive the lowering; constants of the editor's graph outlive `graph`.
  Lowering(const ir::Editor& editor, const Meanings& meanings, const Target& target, ConstantData data,
           FlatGraph& graph);

  void Add(const QuantizedOp& work);
  // The tensor of a value that isn't a constant; NSDK_NONE if no op has it.
  uint32_t Find(int32_t value) const;

  // --- functions for the rows of the table

  const ir::Editor& editor() const { return editor_; }
  const Target& target() const { return target_; }
  bool gives_data() const { return data_ == ConstantData::kGiven; }
  const ir::Node& NodeOf(const QuantizedOp& work) const { return editor_.node(work.node); }
  // The operand's dimensions, which are known.
  kit::Dims DimsOf(const Operand& operand) const;
  // The integers of an input that isn't quantised. Throws if the input isn't a constant.
  std::vector<int64_t> Ints(const QuantizedOp& work, size_t input) const;
  bool Has(const QuantizedOp& work, size_t input) const {
    return input < work.inputs.size() && work.inputs[input].value >= 0;
  }

  // The tensor with the operand's stored numbers.
  uint32_t Stored(const Operand& operand);
  // A tensor between two emitted operators, quantised as `like` is.
  uint32_t Temporary(const Operand& like, std::span<const int64_t> dims);
  uint32_t Constant(const std::string& name, EpElementType type, std::span<const int64_t> dims, Scaling scaling,
                    const void* data, uint64_t bytes, std::shared_ptr<const void> owner);
  FlatGraph::Op& Emit(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs, uint32_t output);
  // Like Emit, for the operator that writes the op's output. It applies the unit's clamp.
  FlatGraph::Op& EmitLast(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs);
  // Whether a table of 256 numbers should convert x to the scale, zero point and type of y, which differ. Such a table
  // gives exactly the results of DequantizeLinear and QuantizeLinear. An NPU's own requantisation may be one step off.
  bool NeedsTable(const Operand& x, const Operand& y) const;
  // Writes tensor `to`, quantised as y, from tensor `from`, quantised as x. Uses a table if possible, otherwise
  // RESCALE. The result is clamped to `range`.
  void EmitRequantisation(const QuantizedOp& work, const Operand& x, const Operand& y, qdq::Clamp range, uint32_t from,
                          uint32_t to);
  // Emits a table of 256 results as LOOKUP. The op's clamp is not applied.
  void EmitTable(const QuantizedOp& work, std::span<const uint8_t, 256> table, const Operand& y, uint32_t from,
                 uint32_t to);
  // The operand's tensor, requantised to match `like` if its quantisation differs.
  uint32_t StoredAs(const QuantizedOp& work, const Operand& operand, const Operand& like);
  // Like StoredAs, for an operator that only moves or selects elements. If no table can requantise, the operator
  // changes the scale itself.
  uint32_t MovedAs(const QuantizedOp& work, const Operand& operand, const Operand& like);

 private:
  struct Known {
    uint32_t tensor;
    Scaling scaling;
  };

  uint32_t StoredConstant(const ir::Constant& constant, const Operand& operand);
  void CheckShape(const ir::Value& value) const;

  const ir::Editor& editor_;
  const Meanings& meanings_;
  const Target& target_;
  const ConstantData data_;
  FlatGraph& graph_;
  std::unordered_map<int32_t, std::vector<Known>> of_value_;
};

// The range of the op's result: the unit's clamp, or the range of the type.
qdq::Clamp RangeOf(const QuantizedOp& work);
qdq::Clamp RangeOf(EpElementType type);

// Throws for block-wise scales.
Scaling ScalingOf(const qdq::Quantization& quantization);

// The operator's name in explanations, such as "conv" for NSDK_CONV.
std::string_view NameOf(NsdkOpKind kind);

}  // namespace epiphyte::npu
