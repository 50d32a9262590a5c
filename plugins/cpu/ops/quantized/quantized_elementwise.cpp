// epiphyte.kit.QLinearElementwise: an element-wise operator between DequantizeLinear of each operand and
// QuantizeLinear, with the same arithmetic as the separate operators. With one operand, the operator is a lookup table,
// and so is a chain of such operators.
#include <algorithm>
#include <array>
#include <numeric>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/kernel/elementwise_run.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/quantized/quant_params.h"
#include "plugins/cpu/simd/convert/byte_table.h"

namespace epiphyte::cpu {
namespace {

using Instruction = kit::fuse::ElementwiseProgram::Instruction;

std::vector<Instruction> ReadInstructions(const ir::Node& node) {
  kit::fuse::ElementwiseProgram program = kit::fuse::ReadElementwiseProgram(node);
  const size_t operands = node.inputs.size();
  const std::vector<Instruction>& instructions = program.instructions;
  const bool in_order =
      operands == 1 || (operands == 2 && instructions.size() == 1 && instructions[0].a == 0 && instructions[0].b == 2);
  if (!in_order)
    throw kit::Error(EP_STATUS_INVALID_GRAPH,
                     FormatText("a program of {} instructions on {} operands; one instruction that takes two operands "
                                "in their order, or a program on one operand expected",
                                instructions.size(), operands));
  return std::move(program.instructions);
}

ElementwiseLoop LoopOf(const Instruction& instruction) {
  const bool both = instruction.a >= 0 && instruction.b >= 0;
  return ElementwiseLoop(instruction.op, instruction.p0, instruction.p1,
                         both                ? ElementwiseOperands::kBoth
                         : instruction.a < 0 ? ElementwiseOperands::kSecond
                                             : ElementwiseOperands::kFirst);
}

class QLinearElementwiseKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit QLinearElementwiseKernel(const KernelInit& init)
      : instructions_(ReadInstructions(init.node())),
        operands_(init.node().inputs.size()),
        loop_(LoopOf(instructions_.front())),
        ends_(ReadQuantParams(init.node(), operands_ + instructions_.size() - 1)),
        bounds_(init.node()) {
    if (operands_ == 1) tables_ = {MakeTable(EP_TYPE_UINT8), MakeTable(EP_TYPE_INT8)};
  }

  void Run(OpContext& context) const override {
    const Tensor& first = DenseInput(context, 0);
    RequireBytes(first, "x");
    if (operands_ == 1) return RunTable(context, first);
    const Tensor& second = DenseInput(context, 1);
    if (first.type != second.type)
      FailOp("operands of type {} and {}, expected one type", TypeName(first.type), TypeName(second.type));
    if (first.dims == second.dims && SameLayout(first, second)) {
      Tensor& y = OutputLike(context, 0, first);
      const uint8_t* const a = first.as<uint8_t>();
      const uint8_t* const b = second.as<uint8_t>();
      const ElementType type = first.type;
      ParallelLoop(context, y.Count(), 4, [&](int64_t begin, int64_t end) {
        Combine(type, a + begin, 1, b + begin, 1, y.as<uint8_t>() + begin, end - begin);
      });
      return;
    }
    if (RunOrdered(context)) return;
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const Dims out = kit::BroadcastShape(a.dims, b.dims);
    Broadcast(context, a, a.dims, b, b.dims, out, context.Output(0, a.type, out));
  }

 private:
  // Runs when one operand has the full shape in a oneDNN layout, and the other operand's data already has its order.
  bool RunOrdered(OpContext& context) const {
    for (size_t lead = 0; lead < 2; ++lead) {
      const Tensor& full = context.AnyLayoutInput(lead);
      const Tensor& other = context.AnyLayoutInput(1 - lead);
      const std::optional<AxisOrder> order = full.layout == nullptr ? std::nullopt : OrderOf(full);
      if (!order || other.layout != nullptr || other.rank() > full.rank() || !LiesAlike(other.dims, *order)) continue;
      if (kit::BroadcastShape(full.dims, other.dims) != full.dims) continue;
      const std::optional<Dims> other_dims = BroadcastInMemory(other.dims, *order);
      if (!other_dims) continue;
      const Dims dims = InMemory(full.dims, *order);
      Tensor& y = context.OutputWithLayout(0, full.type, full.dims, full.layout, full.Bytes());
      const bool first = lead == 0;
      Broadcast(context, context.AnyLayoutInput(0), first ? dims : *other_dims, context.AnyLayoutInput(1),
                first ? *other_dims : dims, dims, y);
      return true;
    }
    return false;
  }

  void Broadcast(OpContext& context, const Tensor& a, const Dims& a_dims, const Tensor& b, const Dims& b_dims,
                 const Dims& out, Tensor& y) const {
    if (AddsRow(a_dims, b_dims, out)) return AddRow(context, a, ends_[0], b, ends_[1], b_dims.Count(), y);
    if (AddsRow(b_dims, a_dims, out)) return AddRow(context, b, ends_[1], a, ends_[0], a_dims.Count(), y);
    const kit::BroadcastLoop<2> loop(out, {&a_dims, &b_dims});
    ParallelLoop(context, loop.count(), 4, [&](int64_t begin, int64_t end) {
      loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
        Combine(a.type, a.as<uint8_t>() + in[0].offset, in[0].stride, b.as<uint8_t>() + in[1].offset, in[1].stride,
                y.as<uint8_t>() + offset, n);
      });
    });
  }

  // True when the sum adds the whole `row` to each row of `all`.
  bool AddsRow(const Dims& all, const Dims& row, const Dims& out) const {
    if (instructions_.front().op != kit::fuse::ElementwiseOp::kAdd || !(all == out) || row.Count() < 2) return false;
    size_t first = 0;
    while (row[first] == 1) ++first;
    return std::equal(row.begin() + static_cast<std::ptrdiff_t>(first), row.end(),
                      out.end() - static_cast<std::ptrdiff_t>(row.size() - first));
  }
  void AddRow(OpContext& context, const Tensor& all, simd::QuantParams all_end, const Tensor& row,
              simd::QuantParams row_end, int64_t n, Tensor& y) const {
    simd::ByteRowSum sum;
    sum.n = n;
    sum.is_signed = all.type == EP_TYPE_INT8;
    sum.row = row.as<uint8_t>();
    sum.a_end = all_end;
    sum.row_end = row_end;
    sum.y_end = ends_[2];
    const ResultBounds bounds = bounds_.Of(all.type);
    sum.low = bounds.low;
    sum.high = bounds.high;
    ParallelLoop(context, y.Count() / n, n * 4, [&](int64_t begin, int64_t end) {
      simd::ByteRowSum part = sum;
      part.rows = end - begin;
      part.a = all.as<uint8_t>() + begin * n;
      part.y = y.as<uint8_t>() + begin * n;
      simd::AddByteRow(part);
    });
  }

  void Combine(ElementType type, const uint8_t* a, int64_t a_stride, const uint8_t* b, int64_t b_stride, uint8_t* y,
               int64_t n) const {
    const bool is_signed = type == EP_TYPE_INT8;
    const ResultBounds bounds = bounds_.Of(type);
    using kit::fuse::ElementwiseOp;
    const ElementwiseOp op = instructions_.front().op;
    if (op == ElementwiseOp::kAdd || op == ElementwiseOp::kMul) {
      const auto operation = op == ElementwiseOp::kAdd ? simd::ByteOperation::kAdd : simd::ByteOperation::kMul;
      return simd::CombineBytes({.operation = operation,
                                 .is_signed = is_signed,
                                 .a = {a, a_stride, ends_[0]},
                                 .b = {b, b_stride, ends_[1]},
                                 .y_end = ends_[2],
                                 .low = bounds.low,
                                 .high = bounds.high,
                                 .y = y,
                                 .n = n});
    }
    constexpr int64_t kBlock = 512;
    float left[kBlock], right[kBlock];
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = std::min(kBlock, n - at);
      Load(a, a_stride, at, count, ends_[0], is_signed, left);
      Load(b, b_stride, at, count, ends_[1], is_signed, right);
      loop_(left, right, left, count);
      QuantizeClamped(left, count, ends_[2], bounds, is_signed, y + at);
    }
  }
  static void Load(const uint8_t* x, int64_t stride, int64_t at, int64_t n, simd::QuantParams end, bool is_signed,
                   float* to) {
    if (stride == 1) return DequantizeBytes(x + at, n, end, is_signed, to);
    DequantizeBytes(x, 1, end, is_signed, to);
    std::fill_n(to + 1, n - 1, to[0]);
  }

  using Table = std::array<uint8_t, 256>;
  Table MakeTable(ElementType type) const {
    const bool is_signed = type == EP_TYPE_INT8;
    using Reals = std::array<float, 256>;
    Table table;
    std::iota(table.begin(), table.end(), uint8_t{0});
    // Values of the input bytes, followed by the results of each instruction.
    std::vector<Reals> reals(instructions_.size() + 1);
    DequantizeBytes(table.data(), 256, ends_[0], is_signed, reals[0].data());
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Instruction& instruction = instructions_[i];
      const auto operand = [&](int32_t of) -> const float* {
        if (of < 0) return nullptr;
        return reals[of % 2 == 0 ? 0 : static_cast<size_t>(of / 2) + 1].data();
      };
      Reals& result = reals[i + 1];
      LoopOf(instruction)(operand(instruction.a), operand(instruction.b), result.data(), 256);
      const bool is_last = i + 1 == instructions_.size();
      const ResultBounds bounds = is_last ? bounds_.Of(type) : BoundsAttributes().Of(type);
      QuantizeClamped(result.data(), 256, ends_[i + 1], bounds, is_signed, table.data());
      DequantizeBytes(table.data(), 256, ends_[i + 1], is_signed, result.data());
    }
    return table;
  }

  void RunTable(OpContext& context, const Tensor& x) const {
    const Table& table = tables_[x.type == EP_TYPE_INT8 ? 1 : 0];
    const uint8_t* const from = x.as<uint8_t>();
    uint8_t* const to = OutputLike(context, 0, x).as<uint8_t>();
    constexpr int64_t kWide = 16;  // bytes that cost as much as an addition of other kernels
    const int64_t blocks = (x.Count() + kWide - 1) / kWide, count = x.Count();
    ParallelLoop(context, blocks, 2, [&](int64_t begin, int64_t end) {
      simd::MapBytes(table, from + begin * kWide, to + begin * kWide, std::min(end * kWide, count) - begin * kWide);
    });
  }

  std::vector<Instruction> instructions_;
  size_t operands_;
  ElementwiseLoop loop_;
  std::vector<simd::QuantParams> ends_;
  BoundsAttributes bounds_;
  std::array<Table, 2> tables_;  // tables for one operand: for uint8, and for int8
};

}  // namespace

void Register_quantized_elementwise(KernelRegistry& registry) {
  registry.Add<QLinearElementwiseKernel>(kit::fuse::kQLinearElementwise, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
