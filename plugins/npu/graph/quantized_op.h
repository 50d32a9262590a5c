// QuantizedOp: one operator on quantised numbers, independent of its spelling in ONNX. A QDQ unit, a QLinearConv, a
// ConvInteger, a DequantizeLinear before QuantizeLinear nodes and a MaxPool of int8 all become a QuantizedOp. One table
// (lower.h) turns quantized ops into operators of nsdk.h.
//
// QDQ units are taken as they are found (kit/qdq), not as the integer operators of kit::fuse::FuseQuantized. Those are
// made for a CPU (GEMMs with zero points, programs of element-wise operators). They lack Softmax, LayerNormalization,
// Resize and other operators that an SDK computes itself. Also, GetCapability asks about the host's nodes, and exactly
// those must be compiled later.
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

// An input or output of the operator: the value that holds its stored numbers, and their quantisation. Parameters
// (shapes, axes) and floats have no quantisation.
struct Operand {
  int32_t value = -1;  // -1: left out
  std::optional<qdq::Quantization> quantization;
};

struct QuantizedOp {
  std::string_view op;                   // "Conv": the float operator that the op computes; "Rescale" if there is none
  int64_t version = 1;                   // opset version of `op`
  int32_t node = -1;                     // node that has the attributes
  std::vector<Operand> inputs, outputs;  // in the float operator's order
  qdq::Unit unit;                        // QDQ units only: for biases and clamps
  std::vector<int32_t> nodes;            // all nodes of the op, in an execution order
};

// `unit` is one that FindUnits gave.
QuantizedOp OpOfUnit(const ir::Editor& editor, const qdq::Unit& unit);

// Quantisation of values that hold stored numbers, as the nodes around them define it. Operators that only move bytes
// pass on the quantisation of their inputs, or of their outputs.
class Meanings {
 public:
  explicit Meanings(const ir::Editor& editor);
  // The quantisation of a value; null if no node defines it.
  const qdq::Quantization* Of(int32_t value) const {
    const auto& found = of_value_[static_cast<size_t>(value)];
    return found ? &*found : nullptr;
  }

 private:
  std::vector<std::optional<qdq::Quantization>> of_value_;
};

// The quantized ops of a node without DequantizeLinear and QuantizeLinear around it. Such nodes are QLinearConv,
// QLinearMatMul and those of com.microsoft, ConvInteger, MatMulInteger, and operators that move bytes. A
// DequantizeLinear that only QuantizeLinear nodes read gives one op for each of these. The result is empty, and `why`
// is set, if something is missing. For all other nodes the result and `why` are empty.
std::vector<QuantizedOp> OpsOfNode(const ir::Editor& editor, const Meanings& meanings, int32_t node, std::string* why);

}  // namespace epiphyte::npu
