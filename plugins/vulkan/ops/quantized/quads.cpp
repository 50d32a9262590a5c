#include "plugins/vulkan/ops/quantized/quads.h"

#include <bit>
#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/qdq/integer_product.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::vulkan {
namespace {

constexpr char kWeights[] = "quads";
// Keys of the table of filters. The second one is used if the zero point of any filter isn't 0.
constexpr char kTable[] = "table", kTableWithZeros[] = "table_with_zeros";
constexpr int64_t kFilters = PackedFilters::kBlock;  // filters that an invocation computes
constexpr int64_t kPositions = 8;                    // output positions that an invocation computes
// Input indices of QLinearConv and QLinearMatMul.
constexpr size_t kXScale = 1, kWScale = 4, kYScale = 6, kYZero = 7, kBias = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether each channel has one filter, which reads that channel alone. The bytes of a word are then different channels,
// and nothing is summed over them.
bool IsDepthwise(const PackedFilters& shape) { return shape.channels == 1 && shape.filters == 1 && shape.groups > 1; }

Dims WeightDims(const PackedFilters& shape) {
  if (IsDepthwise(shape)) return {CeilDiv(shape.groups, 4), shape.taps};
  return {shape.groups * shape.blocks(), shape.taps * CeilDiv(shape.channels, 4), kFilters};
}

// --- packing

// A constant parameter with one number, or with `count` numbers. An input that is left out counts as 0.
class Parameter {
 public:
  Parameter(const Packing& packing, size_t input, int64_t count)
      : there_(packing.node().HasInput(input)), tensor_(packing.Constant(input)), count_(count) {}

  bool IsUsable() const {
    return !there_ || (tensor_ != nullptr && (tensor_->Count() == 1 || tensor_->Count() == count_));
  }
  double operator[](int64_t i) const {
    double number = 0;
    if (tensor_ != nullptr) ir::NumberAt(*tensor_, static_cast<size_t>(tensor_->Count() == 1 ? 0 : i), &number);
    return number;
  }

 private:
  const bool there_;
  const ir::Tensor* const tensor_;
  const int64_t count_;
};

// A weight as a signed byte; weights of uint8 are reduced by 128.
int32_t SignedByte(const ir::Tensor& w, int64_t at) {
  return w.type == EP_TYPE_INT8 ? w.as<int8_t>()[at] : w.as<uint8_t>()[at] - 128;
}

class Packer {
 public:
  Packer(const ir::Tensor& w, const PackedFilters& shape) : w_(w), shape_(shape) {}

  std::vector<std::byte> Weights() const {
    std::vector<uint32_t> words;
    if (IsDepthwise(shape_)) {
      for (int64_t first = 0; first < shape_.groups; first += 4)
        for (int64_t tap = 0; tap < shape_.taps; ++tap)
          words.push_back(Quad([&](int64_t lane) { return Byte(first + lane, 0, 0, tap); }));
    } else {
      for (int64_t group = 0; group < shape_.groups; ++group)
        for (int64_t first = 0; first < shape_.filters; first += kFilters)
          for (int64_t tap = 0; tap < shape_.taps; ++tap)
            for (int64_t channel = 0; channel < shape_.channels; channel += 4)
              for (int64_t filter = first; filter < first + kFilters; ++filter)
                words.push_back(Quad([&](int64_t lane) { return Byte(group, filter, channel + lane, tap); }));
    }
    std::vector<std::byte> bytes(words.size() * sizeof(uint32_t));
    if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }

  // Σ (w - zero) over the weights of a filter; wraps.
  int32_t Sum(int64_t group, int64_t filter, int32_t zero) const {
    uint32_t sum = 0;
    for (int64_t channel = 0; channel < shape_.channels; ++channel)
      for (int64_t tap = 0; tap < shape_.taps; ++tap)
        sum += static_cast<uint32_t>(SignedByte(w_, At(group, filter, channel, tap)) - zero);
    return static_cast<int32_t>(sum);
  }

 private:
  int64_t At(int64_t group, int64_t filter, int64_t channel, int64_t tap) const {
    return group * shape_.group_stride + filter * shape_.filter_stride + channel * shape_.channel_stride + tap;
  }
  // A weight as a signed byte; 0 beyond the last group, filter or channel.
  int32_t Byte(int64_t group, int64_t filter, int64_t channel, int64_t tap) const {
    if (group >= shape_.groups || filter >= shape_.filters || channel >= shape_.channels) return 0;
    return SignedByte(w_, At(group, filter, channel, tap));
  }
  template <typename OfLane>
  static uint32_t Quad(const OfLane& of_lane) {
    uint32_t word = 0;
    for (int64_t lane = 0; lane < 4; ++lane) word |= (static_cast<uint32_t>(of_lane(lane)) & 255u) << (8 * lane);
    return word;
  }

  const ir::Tensor& w_;
  const PackedFilters& shape_;
};

// The first row of the table, which all filters share: y's zero point, and the least and greatest value of y.
std::array<int32_t, 4> CommonRow(const Packing& packing) {
  const ir::Tensor* zero = packing.Constant(kYZero);
  const ResultBounds bounds(packing.node(), zero->type);
  return {static_cast<int32_t>(Parameter(packing, kYZero, 1)[0]), static_cast<int32_t>(bounds.low),
          static_cast<int32_t>(bounds.high), 0};
}

bool HasOneZeroPoint(const Packing& packing, size_t input) {
  uint64_t count = 0;
  const ir::Value* info = packing.Info(input);
  return info == nullptr || (info->IsStatic() && kit::CountElements(info->dims, &count) && count == 1);
}

}  // namespace

void PackQuads(Packing& packing, const ProductOperands& operands, const PackedFilters& shape) {
  const ir::Tensor* w = packing.Constant(operands.w);
  if (w == nullptr || (w->type != EP_TYPE_INT8 && w->type != EP_TYPE_UINT8) || w->Count() == 0) return;
  const int64_t filters = shape.groups * shape.filters;
  const Parameter w_zero(packing, operands.w_zero, filters);
  if (!HasOneZeroPoint(packing, operands.x_zero) || !w_zero.IsUsable()) return;
  const size_t absent = SIZE_MAX;
  const auto scale = [&](size_t input, int64_t count) {
    return Parameter(packing, operands.requantized ? input : absent, count);
  };
  const Parameter x_scale = scale(kXScale, 1), w_scale = scale(kWScale, filters), y_scale = scale(kYScale, 1);
  const Parameter y_zero = scale(kYZero, 1), bias = scale(kBias, filters);
  for (const Parameter* each : {&x_scale, &w_scale, &y_scale, &y_zero, &bias})
    if (!each->IsUsable()) return;
  if (operands.requantized && packing.node().HasInput(kBias) && packing.Constant(kBias)->Count() != filters) return;

  const Packer packer(*w, shape);
  std::vector<std::array<int32_t, 4>> table(1);
  if (operands.requantized) table[0] = CommonRow(packing);
  bool has_zeros = false;
  for (int64_t i = 0; i < filters; ++i) {
    kit::qdq::ProductColumn column;
    column.weight_zero = static_cast<int32_t>(w_zero[i]);
    if (w->type == EP_TYPE_UINT8) column.weight_zero -= 128;
    column.weights = packer.Sum(i / shape.filters, i % shape.filters, column.weight_zero);
    if (operands.requantized) {
      column.bias = static_cast<int32_t>(bias[i]);
      column.factor = kit::qdq::RequantizationFactor(static_cast<float>(x_scale[0]), static_cast<float>(w_scale[i]),
                                                     static_cast<float>(y_scale[0]));
    }
    has_zeros = has_zeros || column.weight_zero != 0;
    table.push_back({column.bias, column.weights, column.weight_zero, std::bit_cast<int32_t>(column.factor)});
  }
  packing.Put(kWeights, packer.Weights());
  const auto rows = std::as_bytes(std::span(table));
  packing.Put(has_zeros ? kTableWithZeros : kTable, {rows.begin(), rows.end()});
  packing.Release(operands.w);
}

bool HasQuads(const Recording& r) { return r.HasPacked(kWeights); }

std::string WhyNoQuads(const NodeCheck& check) {
  for (const size_t i :
       {kXScale, kQLinearOperands.x_zero, kQLinearOperands.w, kWScale, kQLinearOperands.w_zero, kYScale, kYZero, kBias})
    if (check.HasInput(i) && !check.IsConstant(i)) return kit::TextOf("input ", i, " is no constant");
  return "";
}

void FailNotPacked() {
  kit::FailWith(EP_STATUS_INVALID_GRAPH, "its weights are not packed, or its scales and zero points don't fit them");
}

// --- recording

namespace {

// The input in quads, as the kernels read it.
struct Quads {
  int32_t tensor = -1;
  uint32_t flip = 0;                        // XOR mask that the kernel applies to each word
  uint32_t zero_flip = 0;                   // XOR mask for the byte of the zero point
  int64_t plane = 1, group = 1, image = 1;  // strides, in words
};

// Brings the input into quads. `is_signed` says whether the kernel reads signed bytes.
Quads QuadsOf(Recording& r, const QuadProduct& product, int64_t groups, int64_t channels, bool is_signed) {
  const ProductOperands& operands = product.operands;
  const EpElementType type = r.InputType(operands.x);
  const Dims dims = r.InputDims(operands.x);
  const int64_t images = product.rows > 0 ? product.rows : product.images;
  const int64_t quads = CeilDiv(channels, 4);
  const auto size = [](const std::array<int64_t, 3>& of) { return kit::CheckedCount(of); };
  Quads made;
  made.zero_flip = (type == EP_TYPE_INT8) == is_signed ? 0 : 0x80;
  made.plane = size(product.padded);
  made.group = made.plane * quads;
  made.image = made.group * groups;
  const uint32_t flip = made.zero_flip * 0x01010101u;
  // The kernel reads the input as it is if its planes have one element, without padding, and its channels fill whole
  // words. (A padding may be negative, so the size alone doesn't rule it out.)
  if (size(product.in) == 1 && made.plane == 1 && product.before == std::array<int64_t, 3>{} && channels % 4 == 0) {
    made.tensor = r.InputTensor(operands.x);
    made.flip = flip;
    return made;
  }
  made.tensor = r.Scratch(EP_TYPE_UINT32, {images, groups, quads, made.plane});
  const int64_t rows = images * groups * quads * product.padded[0] * product.padded[1];
  const bool has_zero = r.HasInput(operands.x_zero);
  std::vector<uint32_t> words = {Word(rows), Word(dims.Count()), Word(groups), Word(channels)};
  for (const std::array<int64_t, 3>* each : {&product.in, &product.padded, &product.before})
    for (const int64_t number : *each) words.push_back(Word(number));
  r.Add(
      {.shader = "quads_of_planes",
       .specialization = {has_zero ? 1u : 0u, flip, dims.Count() % 4 == 0 ? 0u : 1u},
       .parameters = std::move(words),
       .bindings = {r.Read(operands.x), r.Read(has_zero ? operands.x_zero : operands.x), Recording::Write(made.tensor)},
       .groups = r.GroupsFor(rows * CeilDiv(product.padded[2], 16)),
       .work = static_cast<uint64_t>(kit::CheckedMultiply(rows, product.padded[2]))});
  return made;
}

// Blocks of filters per workgroup. One block is best, because all invocations then share its weights. More are taken
// when one would leave most invocations without work. A device that emulates workgroups doesn't mind idle invocations.
uint32_t BlocksOfWorkgroup(const Capabilities& capabilities, int64_t invocations, int64_t blocks) {
  uint32_t found = 1;
  if (invocations > 1 && !capabilities.Has(Capability::kSharedMemory)) return found;
  while (found < kLinearGroup && found < blocks && invocations * found * 2 <= kLinearGroup) found *= 2;
  return found;
}

// The shaders' kStore: how the bytes of y are stored. 0: one by one; 1: four positions in a word; 2: four filters in a
// word. Int32 sums are stored one by one.
uint32_t StoreOf(bool requantized, int64_t rows_at_once, int64_t positions, int64_t y_position, int64_t filters,
                 int64_t y_filter) {
  if (!requantized) return 0;
  if (y_filter == 1 && filters % 4 == 0) return 2;
  return y_position == 1 && positions % 4 == 0 && rows_at_once % 4 == 0 ? 1 : 0;
}

}  // namespace

void RecordQuads(Recording& r, const QuadProduct& product) {
  const ProductOperands& operands = product.operands;
  const PackedFilters& shape = product.filters;
  if (r.HasInput(operands.x_zero) && r.InputDims(operands.x_zero).Count() != 1)
    kit::FailArgument("the input's zero point has ", r.InputDims(operands.x_zero).Count(), " elements, expected one");
  const int64_t all_filters = shape.groups * shape.filters;
  const bool has_zeros = r.HasPacked(kTableWithZeros);
  const int32_t w = r.Packed(kWeights, EP_TYPE_UINT32, WeightDims(shape));
  const int32_t table = r.Packed(has_zeros ? kTableWithZeros : kTable, EP_TYPE_INT32, {all_filters + 1, 4});
  const int32_t y = r.Output(0, product.y_type, product.y);
  if (product.y.Count() == 0) return;

  const bool depthwise = IsDepthwise(shape);
  const bool dot = !depthwise && r.capabilities().Has(Capability::kDotProduct);
  const bool is_product = product.rows > 0;
  const int64_t positions = is_product ? product.rows : product.out[0] * product.out[1] * product.out[2];
  const int64_t groups = depthwise ? 1 : shape.groups;
  const int64_t channels = depthwise ? shape.groups : shape.channels;
  const Quads x = QuadsOf(r, product, groups, channels, dot);
  const int64_t at_once = positions == 1 ? 1 : depthwise ? 4 : kPositions;
  const int64_t invocations = CeilDiv(positions, at_once);
  const int64_t blocks = depthwise ? CeilDiv(channels, 4) : groups * shape.blocks();
  const uint32_t together = BlocksOfWorkgroup(r.capabilities(), invocations, blocks);
  const int64_t y_filter = is_product ? 1 : positions, y_position = is_product ? all_filters : 1;

  const std::array<int64_t, 3> step = {product.padded[1] * product.padded[2], product.padded[2], 1};
  std::vector<uint32_t> words = {Word(product.images),
                                 Word(groups),
                                 Word(depthwise ? channels : shape.filters),
                                 Word(CeilDiv(channels, 4)),
                                 Word(positions),
                                 Word(depthwise ? blocks : shape.blocks()),
                                 Word(x.plane),
                                 Word(x.group),
                                 Word(is_product ? 0 : x.image)};
  for (const int64_t size : product.kernel) words.push_back(Word(size));
  for (size_t d = 0; d < 3; ++d) words.push_back(Word(product.dilations[d] * step[d]));
  for (size_t d = 0; d < 3; ++d) words.push_back(Word(is_product ? x.image : product.strides[d] * step[d]));
  words.insert(words.end(), {Word(is_product ? 1 : product.out[1]), Word(is_product ? product.rows : product.out[2]),
                             Word(is_product ? 0 : positions * all_filters), Word(y_filter), Word(y_position)});

  Dispatch dispatch;
  dispatch.shader = depthwise ? "quads_depthwise" : "quads_product";
  if (operands.requantized) dispatch.shader += "_requantized";
  if (dot) dispatch.shader += "_dot";
  if (!depthwise) dispatch.shader += at_once == 1 ? "_1" : "_8";
  if (!operands.requantized) dispatch.shader += ".i32";
  r.Note(dispatch.shader +
         (dot || depthwise ? "" : "; not by dot products: " + r.capabilities().WhyNot(Capability::kDotProduct)));
  dispatch.specialization = {x.flip,
                             x.zero_flip,
                             r.HasInput(operands.x_zero) ? 1u : 0u,
                             has_zeros ? 1u : 0u,
                             together,
                             StoreOf(operands.requantized, at_once, positions, y_position, shape.filters, y_filter)};
  dispatch.parameters = std::move(words);
  dispatch.bindings = {Recording::ReadTensor(x.tensor), Recording::ReadTensor(w),
                       r.Read(r.HasInput(operands.x_zero) ? operands.x_zero : operands.x), Recording::ReadTensor(table),
                       Recording::Write(y)};
  const int64_t across = kLinearGroup / together;
  dispatch.groups = {Word(CeilDiv(invocations, across)), Word(CeilDiv(blocks, together)), Word(product.images)};
  dispatch.work = static_cast<uint64_t>(product.y.Count()) * static_cast<uint64_t>(shape.channels * shape.taps);
  dispatch.passes = static_cast<uint64_t>(shape.taps) * static_cast<uint64_t>((shape.channels + 3) / 4 + 3);
  r.Add(std::move(dispatch));
}

}  // namespace epiphyte::vulkan
