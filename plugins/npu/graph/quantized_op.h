// QuantizedOp: one operator on quantised numbers, whichever of ONNX's spellings says it. A QDQ unit, QLinearConv,
// ConvInteger, a DequantizeLinear with QuantizeLinear nodes behind it and a MaxPool of int8 all become a QuantizedOp,
// and one table (lower.h) makes operators of nsdk.h of these.
//
// QDQ units are taken as they are found (kit/qdq), not as the integer operators that kit::fuse::FuseQuantized makes of
// them: those are a CPU's (products with their zero points, programs of element-wise operators), they lack Softmax,
// LayerNormalization, Resize and what else an SDK computes by itself; and what is asked in GetCapability must be what
// is compiled later, of the host's nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"
#include "epiphyte/kit/qdq/units.hpp"
#include "plugins/npu/graph/flat_graph.h"

namespace epiphyte::npu {

namespace ir = kit::ir;
namespace qdq = kit::qdq;

// An input or output of the operator: the value that holds its stored numbers, and what these mean. Parameters (shapes,
// axes) and floats have no scaling.
struct Operand {
  int32_t value = -1;  // -1: left out
  std::optional<qdq::Quantization> quantization;
};

struct QuantizedOp {
  std::string_view op;                   // "Conv": the float operator that it computes; "Rescale" where there is none
  int64_t version = 1;                   // of that
  int32_t node = -1;                     // has its attributes
  std::vector<Operand> inputs, outputs;  // as the float operator has them
  qdq::Unit unit;                        // of QDQ units: for biases and clamps
  std::vector<int32_t> nodes;            // all of its nodes, in an order in which they can run
};

// `unit` is one of FindUnits.
QuantizedOp OpOfUnit(const ir::Editor& editor, const qdq::Unit& unit);

// What values that hold stored numbers mean, as the nodes around them say; operators that only move bytes say what
// their inputs do, or what others make of their outputs.
class Meanings {
 public:
  explicit Meanings(const ir::Editor& editor);
  // Null: nobody says.
  const qdq::Quantization* Of(int32_t value) const {
    const auto& found = of_value_[static_cast<size_t>(value)];
    return found ? &*found : nullptr;
  }

 private:
  std::vector<std::optional<qdq::Quantization>> of_value_;
};

// What a node computes without DequantizeLinear and QuantizeLinear around it: QLinearConv, QLinearMatMul and those of
// com.microsoft, ConvInteger, MatMulInteger; operators that move bytes; and a DequantizeLinear that QuantizeLinear
// nodes alone read: a QuantizedOp for each of these. None, and `why`, where something is missing; none and no `why` for
// all others.
std::vector<QuantizedOp> OpsOfNode(const ir::Editor& editor, const Meanings& meanings, int32_t node, std::string* why);

}  // namespace epiphyte::npu
