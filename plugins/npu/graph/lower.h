// Lowering: from works (work.h) to operators of nsdk.h, by one table with a row for each operator of ONNX.
//
//   FlatGraph graph("question");
//   Lowering lowering(editor, meanings, target, ConstantData::kLeftOut, graph);
//   lowering.Add(work);                        // throws Refused: "its axis is 1, and …"
//   graph.SetPortsOfOps();
//   for (uint32_t op = 0; op < graph.op_count(); ++op) why = context.WhyNot(graph.Get(), op);
//
// What is asked in GetCapability and what is compiled later are made by the same code. What an SDK can do is its own to
// say; here is refused what nsdk.h has no words for.
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

// One line, for the placement report.
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
  // All outlive the lowering; constants of the editor's graph outlive `graph`.
  Lowering(const ir::Editor& editor, const Meanings& meanings, const Target& target, ConstantData data,
           FlatGraph& graph);

  void Add(const QuantizedOp& work);
  // Of a value of the graph that isn't a constant; NSDK_NONE: no work has it.
  uint32_t Find(int32_t value) const;

  // --- for the table's rows

  const ir::Editor& editor() const { return editor_; }
  const Target& target() const { return target_; }
  bool gives_data() const { return data_ == ConstantData::kGiven; }
  const ir::Node& NodeOf(const QuantizedOp& work) const { return editor_.node(work.node); }
  // Its dimensions, which are known.
  kit::Dims DimsOf(const Operand& operand) const;
  // Of an input that isn't quantised; throws where it's no constant.
  std::vector<int64_t> Ints(const QuantizedOp& work, size_t input) const;
  bool Has(const QuantizedOp& work, size_t input) const {
    return input < work.inputs.size() && work.inputs[input].value >= 0;
  }

  // The tensor of an operand with stored numbers.
  uint32_t Stored(const Operand& operand);
  // What an operator gives on to the next, as the operand is quantised.
  uint32_t Temporary(const Operand& like, std::span<const int64_t> dims);
  uint32_t Constant(const std::string& name, EpElementType type, std::span<const int64_t> dims, Scaling scaling,
                    const void* data, uint64_t bytes, std::shared_ptr<const void> owner);
  FlatGraph::Op& Emit(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs, uint32_t output);
  // Emit for the operator that makes the work's output, which keeps it within the unit's clamp.
  FlatGraph::Op& EmitLast(const QuantizedOp& work, NsdkOpKind kind, std::vector<uint32_t> inputs);
  // Whether a table of 256 numbers brings x to the scale, zero point and type of y, which differ. Such a table is what
  // DequantizeLinear and QuantizeLinear compute, to the last bit; an NPU's own change of scale may be one step off.
  bool NeedsTable(const Operand& x, const Operand& y) const;
  // Writes tensor `to`, quantised as y, from tensor `from`, quantised as x: by a table where there can be one, else by
  // RESCALE. The result is kept within the range.
  void EmitRequantisation(const QuantizedOp& work, const Operand& x, const Operand& y, qdq::Clamp range, uint32_t from,
                          uint32_t to);
  // A table of 256 results, emitted as LOOKUP. The work's clamp is not applied.
  void EmitTable(const QuantizedOp& work, std::span<const uint8_t, 256> table, const Operand& y, uint32_t from,
                 uint32_t to);
  // The operand's tensor, brought to the quantisation of `like` where it has another.
  uint32_t StoredAs(const QuantizedOp& work, const Operand& operand, const Operand& like);
  // The same for an operator that only moves or chooses elements: where no table can do it, the operator changes the
  // scale itself.
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

// What the work's result is kept within: the unit's clamp, or all that the type has.
qdq::Clamp RangeOf(const QuantizedOp& work);
qdq::Clamp RangeOf(EpElementType type);

// Throws for scales in blocks.
Scaling ScalingOf(const qdq::Quantization& quantization);

// "conv" for NSDK_CONV: for explanations.
std::string_view NameOf(NsdkOpKind kind);

}  // namespace epiphyte::npu
