// Lowers operators that compute each element by itself, or only move it.
#include <algorithm>

#include "plugins/npu/simulator/compiler/lower.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

MapPiece::Operand OperandOf(const View& view) { return {view.storage, view.offset, view.strides}; }

std::vector<MapPiece::Operand> OperandsOf(const std::vector<View>& views) {
  std::vector<MapPiece::Operand> operands;
  for (const View& view : views) operands.push_back(OperandOf(view));
  return operands;
}

// Prepends dimensions and sets strides of 0, so that the view has the extents.
View Broadcast(const Op& op, View view, const std::vector<int64_t>& extents) {
  if (view.dims.size() > extents.size()) Wrong(op, "an operand has a higher rank than the result");
  view.strides.insert(view.strides.begin(), extents.size() - view.dims.size(), 0);
  view.dims.insert(view.dims.begin(), extents.size() - view.dims.size(), 1);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (view.dims[i] != extents[i] && view.dims[i] != 1) {
      Wrong(op, "shape " + ShapeText(view.dims) + " doesn't broadcast to " + ShapeText(extents));
    }
    if (view.dims[i] == 1) view.strides[i] = 0;
  }
  return view;
}

}  // namespace

void Lowering::AddMapAccess(MapLayer& layer) const {
  for (const MapPiece& piece : layer.pieces) {
    for (const MapPiece::Operand& input : piece.inputs) layer.reads.push_back(input.storage);
    for (const MapPiece::Operand& target : piece.targets) layer.writes.push_back(target.storage);
  }
}

ElementwiseCommand Lowering::BinaryCommand(const Op& op) const {
  const Quant a = QuantOf(In(op, 0), "the first operand"), b = QuantOf(In(op, 1), "the second operand"),
              y = QuantOf(Out(op), "the result");
  ElementwiseCommand c;
  c.a_type = a.type;
  c.b_type = b.type;
  c.y_type = y.type;
  c.a_zero_point = a.zero_point;
  c.b_zero_point = b.zero_point;
  c.y_zero_point = y.zero_point;
  const Bounds bounds = BoundsOf(op, y.type);
  c.low = bounds.low;
  c.high = bounds.high;
  if (op.kind == NSDK_MUL) {
    c.kind = Elementwise::kMul;
    const FixedPoint factor = ToFixedPoint(CheckFactor(a.scale * b.scale / y.scale), 30);
    c.a_multiplier = factor.multiplier;
    c.shift = factor.shift;
    return c;
  }
  c.kind = op.kind == NSDK_MAXIMUM   ? Elementwise::kMaximum
           : op.kind == NSDK_MINIMUM ? Elementwise::kMinimum
                                     : Elementwise::kAdd;
  const double sign = op.kind == NSDK_SUB ? -1 : 1;
  const FixedPointPair pair = ToFixedPointPair(CheckFactor(a.scale / y.scale), sign * CheckFactor(b.scale / y.scale));
  c.a_multiplier = pair.a;
  c.b_multiplier = pair.b;
  c.shift = pair.shift;
  return c;
}

MapPiece Lowering::CopyPiece(const Op& op, const Tensor& x, const Tensor& y) const {
  MapPiece piece;
  const bool plain =
      x.scales.empty() && y.scales.empty() && x.type == y.type && (x.type == NSDK_INT8 || x.type == NSDK_UINT8);
  if (plain && !op.Has(NSDK_LOW) && !op.Has(NSDK_HIGH)) return piece;
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  const Bounds bounds = BoundsOf(op, yq.type), all = yq.type == Type::kInt8 ? Bounds{-128, 127} : Bounds{0, 255};
  if (xq == yq && bounds.low == all.low && bounds.high == all.high) return piece;
  piece.kind = MapPiece::kElementwise;
  ElementwiseCommand& c = piece.command;
  c.kind = Elementwise::kRescale;
  c.a_type = xq.type;
  c.y_type = yq.type;
  c.a_zero_point = xq.zero_point;
  c.y_zero_point = yq.zero_point;
  const FixedPoint factor = ToFixedPoint(CheckFactor(xq.scale / yq.scale));
  c.a_multiplier = factor.multiplier;
  c.shift = factor.shift;
  c.low = bounds.low;
  c.high = bounds.high;
  return piece;
}

void Lowering::LowerElementwise(const Op& op) {
  CheckCounts(op, 2, 2);
  const std::vector<int64_t>& dims = Out(op).dims;
  MapPiece piece;
  piece.kind = MapPiece::kElementwise;
  piece.command = BinaryCommand(op);
  piece.extents = dims;
  for (const uint32_t input : op.inputs) piece.inputs.push_back(OperandOf(Broadcast(op, ViewOf(input), dims)));
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto dim = [&](size_t input) {
      const std::vector<int64_t>& d = In(op, input).dims;
      return i + d.size() < dims.size() ? 1 : d[i + d.size() - dims.size()];
    };
    if (std::max(dim(0), dim(1)) != dims[i]) Wrong(op, "the operands don't broadcast to " + ShapeText(dims));
  }
  piece.targets = OperandsOf(TargetsOf(op.outputs[0]));
  auto& layer = AddLayer<MapLayer>(op);
  layer.pieces.push_back(std::move(piece));
  AddMapAccess(layer);
}

uint64_t Lowering::AddTable(const Op& op) {
  CheckCounts(op, 2, 2);
  const Tensor &x = In(op, 0), &y = Out(op);
  if (x.type != NSDK_INT8 && x.type != NSDK_UINT8) {
    Refuse(std::string("the input is ") + TypeName(x.type) + ", the NPU has int8 and uint8");
  }
  if (y.type != NSDK_INT8 && y.type != NSDK_UINT8) {
    Refuse(std::string("the table is of ") + TypeName(y.type) + ", the NPU has int8 and uint8");
  }
  if (x.dims != y.dims) Wrong(op, "input and result have shapes " + ShapeText(x.dims) + " and " + ShapeText(y.dims));
  const Bounds bounds = BoundsOf(op, y.type == NSDK_INT8 ? Type::kInt8 : Type::kUint8);
  const Tensor& table = In(op, 1);
  if (!table.constant) Refuse("the table isn't constant");
  if (table.Elements() != 256 || table.type != y.type) {
    Wrong(op, "the table has shape " + ShapeText(table.dims) + " of " + TypeName(table.type) +
                  ", expected 256 elements of the result's type");
  }
  const bool is_signed = y.type == NSDK_INT8;
  return lowered_.weights.Add(256, [&table, bounds, is_signed](const auto&) {
    std::vector<std::byte> bytes(256);
    for (size_t i = 0; i < 256 && i < table.data.size(); ++i) {
      const auto byte = static_cast<uint8_t>(table.data[i]);
      const int32_t value = is_signed ? static_cast<int8_t>(byte) : byte;
      bytes[i] = static_cast<std::byte>(std::clamp(value, bounds.low, bounds.high));
    }
    return bytes;
  });
}

void Lowering::LowerLookup(const Op& op) {
  MapPiece piece;
  piece.kind = MapPiece::kLookup;
  piece.table = AddTable(op);
  piece.extents = Out(op).dims;
  piece.inputs = {OperandOf(ViewOf(op.inputs[0]))};
  piece.targets = OperandsOf(TargetsOf(op.outputs[0]));
  auto& layer = AddLayer<MapLayer>(op);
  layer.pieces.push_back(std::move(piece));
  AddMapAccess(layer);
}

void Lowering::AddCopy(const Op& op, const View& x, const std::vector<View>& targets) {
  MapPiece piece = CopyPiece(op, In(op, 0), Out(op));
  piece.extents = x.dims;
  piece.inputs = {OperandOf(x)};
  piece.targets = OperandsOf(targets);
  auto& layer = AddLayer<MapLayer>(op);
  layer.pieces.push_back(std::move(piece));
  AddMapAccess(layer);
}

void Lowering::AddCopyOrView(const Op& op, const View& x) {
  // Transfers take any strides, so readers of the result may read x instead. This requires runs of some length in x,
  // and that the copy is not an output.
  bool runs = false, forward = true;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    runs = runs || (x.strides[i] == 1 && x.dims[i] >= 16);
    forward = forward && x.strides[i] >= 0;
  }
  const bool same = CopyPiece(op, In(op, 0), Out(op)).kind == MapPiece::kCopy;
  if (fusion_ && same && runs && forward && output_index_[op.outputs[0]] < 0) {
    views_[op.outputs[0]] = x;
    return;
  }
  AddCopy(op, x, TargetsOf(op.outputs[0]));
}

void Lowering::LowerRescale(const Op& op) {
  CheckCounts(op, 1, 1);
  if (In(op, 0).dims != Out(op).dims) Wrong(op, "input and result differ in shape");
  AddCopy(op, ViewOf(op.inputs[0]), TargetsOf(op.outputs[0]));
}

void Lowering::LowerConcat(const Op& op) {
  CheckCounts(op, 1, 65536);
  const Tensor& y = Out(op);
  const int64_t axis = op.Int(NSDK_AXIS, 0);
  if (axis < 0 || axis >= static_cast<int64_t>(y.dims.size())) {
    Wrong(op, "it concatenates along dimension " + std::to_string(axis) + " of " + ShapeText(y.dims));
  }
  const std::vector<View> targets = TargetsOf(op.outputs[0]);
  auto layer = std::make_unique<MapLayer>();
  int64_t at = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == NSDK_NONE) Wrong(op, "input " + std::to_string(i) + " is missing");
    const Tensor& x = In(op, i);
    std::vector<int64_t> expected = y.dims;
    if (x.dims.size() == y.dims.size()) expected[axis] = x.dims[axis];
    if (x.dims != expected) Wrong(op, "an input has shape " + ShapeText(x.dims) + ", the result " + ShapeText(y.dims));
    MapPiece piece = CopyPiece(op, x, y);
    piece.extents = x.dims;
    piece.inputs = {OperandOf(ViewOf(op.inputs[i]))};
    for (const View& target : targets) {
      piece.targets.push_back({target.storage, target.offset + at * target.strides[axis], target.strides});
    }
    layer->pieces.push_back(std::move(piece));
    at += x.dims[axis];
  }
  if (at != y.dims[axis]) {
    Wrong(op, "the inputs have " + std::to_string(at) + " elements along dimension " + std::to_string(axis) +
                  ", the result has shape " + ShapeText(y.dims));
  }
  AddMapAccess(*layer);
  layer->op = static_cast<uint32_t>(&op - graph_.ops.data());
  lowered_.layers.push_back(std::move(layer));
}

void Lowering::LowerSlice(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  const size_t rank = x.dims.size();
  if (y.dims.size() != rank) Wrong(op, "input and result differ in rank");
  const auto starts = op.Ints(NSDK_STARTS, rank, 0), steps = op.Ints(NSDK_STEPS, rank, 1);
  View view = ViewOf(op.inputs[0]);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t limit = kMaxDimension;
    const bool in_range =
        starts[i] >= 0 && starts[i] < x.dims[i] && steps[i] != 0 && steps[i] >= -limit && steps[i] <= limit;
    const int64_t last = in_range ? starts[i] + (y.dims[i] - 1) * steps[i] : -1;
    if (last < 0 || last >= x.dims[i]) {
      Wrong(op, "it takes " + std::to_string(y.dims[i]) + " from " + std::to_string(starts[i]) + " in steps of " +
                    std::to_string(steps[i]) + " along dimension " + std::to_string(i) + " of " + ShapeText(x.dims));
    }
    view.offset += starts[i] * view.strides[i];
    // A single element is never stepped over, so its stride doesn't matter.
    if (y.dims[i] > 1) view.strides[i] *= steps[i];
    view.dims[i] = y.dims[i];
  }
  AddCopyOrView(op, view);
}

void Lowering::LowerPad(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  const size_t rank = x.dims.size();
  if (y.dims.size() != rank) Wrong(op, "input and result differ in rank");
  const auto pads = op.Ints(NSDK_PADS, 2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const bool in_range = pads[i] >= 0 && pads[i] <= y.dims[i] && pads[rank + i] >= 0;
    if (!in_range || x.dims[i] + pads[i] != y.dims[i] - pads[rank + i]) {
      Wrong(op, "pads of " + std::to_string(pads[i]) + " and " + std::to_string(pads[rank + i]) + " along dimension " +
                    std::to_string(i) + " don't make " + ShapeText(y.dims) + " of " + ShapeText(x.dims));
    }
  }
  const bool is_signed = y.type == NSDK_INT8;
  const Bounds bounds = BoundsOf(op, is_signed ? Type::kInt8 : Type::kUint8);
  const auto value = static_cast<uint8_t>(std::clamp<int64_t>(op.Int(NSDK_VALUE, 0), bounds.low, bounds.high));
  const std::vector<View> targets = TargetsOf(op.outputs[0]);
  auto& layer = AddLayer<MapLayer>(op);
  const auto add = [&](MapPiece piece, const std::vector<int64_t>& begin, const std::vector<int64_t>& extents) {
    piece.extents = extents;
    for (const View& target : targets) {
      int64_t offset = target.offset;
      for (size_t i = 0; i < rank; ++i) offset += begin[i] * target.strides[i];
      piece.targets.push_back({target.storage, offset, target.strides});
    }
    layer.pieces.push_back(std::move(piece));
  };
  const std::vector<int64_t> begin(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  MapPiece inner = CopyPiece(op, x, y);
  inner.inputs = {OperandOf(ViewOf(op.inputs[0]))};
  add(std::move(inner), begin, x.dims);
  // The padding around x consists of slabs, each along one dimension. In the dimensions before, a slab covers only the
  // range of x.
  std::vector<int64_t> at(rank, 0), extents = y.dims;
  for (size_t i = 0; i < rank; ++i) {
    MapPiece fill;
    fill.kind = MapPiece::kFill;
    fill.value = value;
    for (const auto& [first, count] : {std::pair{int64_t{0}, pads[i]}, {pads[i] + x.dims[i], pads[rank + i]}}) {
      if (count == 0) continue;
      at[i] = first;
      extents[i] = count;
      add(fill, at, extents);
    }
    at[i] = pads[i];
    extents[i] = x.dims[i];
  }
  AddMapAccess(layer);
}

void Lowering::LowerReshape(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  if (x.Elements() != y.Elements()) {
    Wrong(op, "shapes " + ShapeText(x.dims) + " and " + ShapeText(y.dims) + " differ in elements");
  }
  const View from = ViewOf(op.inputs[0]);
  const uint32_t result = op.outputs[0];
  const bool same = CopyPiece(op, x, y).kind == MapPiece::kCopy;
  if (same && from.RowMajor() && output_index_[result] < 0) {
    views_[result] = {from.storage, from.offset, y.dims, RowMajorStrides(y.dims)};
    return;
  }
  // The result is row-major, so it can be written with the dimensions of x.
  std::vector<View> targets = TargetsOf(result);
  for (View& target : targets) {
    target.dims = x.dims;
    target.strides = RowMajorStrides(x.dims);
  }
  AddCopy(op, from, targets);
}

void Lowering::LowerTranspose(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  const size_t rank = x.dims.size();
  if (y.dims.size() != rank) Wrong(op, "input and result differ in rank");
  std::vector<int64_t> otherwise(rank);
  for (size_t i = 0; i < rank; ++i) otherwise[i] = static_cast<int64_t>(rank - 1 - i);
  const auto perm = op.Has(NSDK_PERM) ? op.Ints(NSDK_PERM, rank, 0) : otherwise;
  const View from = ViewOf(op.inputs[0]);
  View view{from.storage, from.offset, std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  std::vector<bool> seen(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || perm[i] >= static_cast<int64_t>(rank) || seen[perm[i]]) {
      Wrong(op, "the permutation " + ShapeText(perm) + " isn't one");
    }
    seen[perm[i]] = true;
    view.dims[i] = from.dims[perm[i]];
    view.strides[i] = from.strides[perm[i]];
  }
  if (view.dims != y.dims)
    Wrong(op, "the result has shape " + ShapeText(y.dims) + ", expected " + ShapeText(view.dims));
  AddCopyOrView(op, view);
}

}  // namespace epiphyte::npusim
