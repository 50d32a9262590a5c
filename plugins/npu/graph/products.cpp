// Convolutions and GEMMs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/qdq/bias.hpp"
#include "epiphyte/kit/qdq/sums.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/npu/graph/lower.h"
#include "plugins/npu/graph/rows.h"

namespace epiphyte::npu {
namespace {

std::vector<int64_t> ListOf(const kit::Dims& dims) { return {dims.begin(), dims.end()}; }

// Adds the parameters of a window that differ from their defaults.
void AddWindow(FlatGraph::Op& op, const kit::Dims& strides, const kit::Dims& dilations, std::vector<int64_t> pads,
               int64_t groups) {
  const auto all_are = [](const auto& list, int64_t number) {
    for (const int64_t each : list)
      if (each != number) return false;
    return true;
  };
  if (!all_are(strides, 1)) op.Ints(NSDK_STRIDES, ListOf(strides));
  if (!all_are(dilations, 1)) op.Ints(NSDK_DILATIONS, ListOf(dilations));
  if (!all_are(pads, 0)) op.Ints(NSDK_PADS, std::move(pads));
  if (groups != 1) op.Ints(NSDK_GROUPS, {groups});
}

// The bias of a GEMM or convolution as int32 in units of the sums, one number for each of `channels`; NSDK_NONE without
// a bias.
class Bias {
 public:
  Bias(Lowering& to, const QuantizedOp& work, size_t input) : to_(to), work_(work), input_(input) {}

  // The result is empty without a bias.
  std::vector<int32_t> Numbers(int64_t channels) const {
    if (!to_.Has(work_, input_)) return {};
    std::vector<int32_t> bias = Read();
    if (bias.size() == 1) bias.resize(static_cast<size_t>(channels), bias[0]);
    if (bias.size() != static_cast<size_t>(channels))
      Refuse("its bias has ", bias.size(), " elements, one for each of its ", channels, " channels expected");
    return bias;
  }
  uint32_t Add(const std::vector<int32_t>& bias, int64_t channels) {
    if (bias.empty()) return NSDK_NONE;
    const std::shared_ptr<void> owner = kit::AllocateShared(bias.size() * sizeof(int32_t));
    std::memcpy(owner.get(), bias.data(), bias.size() * sizeof(int32_t));
    const int64_t dims[] = {channels};
    const ir::Value& value = to_.editor().info(work_.inputs[input_].value);
    return to_.Constant(value.name, EP_TYPE_INT32, dims, Scale(channels), owner.get(), bias.size() * sizeof(int32_t),
                        owner);
  }

 private:
  const qdq::Quantization& x() const { return *work_.inputs[0].quantization; }
  const qdq::Quantization& w() const { return *work_.inputs[1].quantization; }

  std::vector<int32_t> Read() const {
    if (!work_.unit.IsQdq()) return ReadStored();
    std::string why;
    std::optional<std::vector<int32_t>> bias = qdq::QuantizedBias(to_.editor(), work_.unit, &why);
    if (!bias) Refuse(why);
    const std::optional<qdq::Quantization>& own = work_.inputs[input_].quantization;
    if (own && qdq::HasProductScale(*own, x(), w())) return *bias;
    // The bias is rounded to a unit of the sums, which must not exceed a step of the result.
    for (size_t i = 0; i < w().Count(); ++i)
      if (x().Scale(0) * w().Scale(i) > work_.outputs[0].quantization->Scale(0))
        Refuse(
            "its bias isn't in steps of its input's scale times its weights', which are more than one of its result");
    return *bias;
  }
  std::vector<int32_t> ReadStored() const {
    const ir::Tensor* stored = ir::ElementsOf(to_.editor().graph(), work_.inputs[input_].value);
    if (stored == nullptr || stored->type != EP_TYPE_INT32) Refuse("its bias isn't a constant of int32");
    std::vector<int32_t> bias(static_cast<size_t>(stored->Count()));
    if (!bias.empty()) std::memcpy(bias.data(), stored->data, bias.size() * sizeof(int32_t));
    return bias;
  }
  Scaling Scale(int64_t channels) const {
    if (w().Count() != 1 && w().Count() != static_cast<size_t>(channels))
      Refuse("its weights have ", w().Count(), " scales, and its result ", channels, " channels");
    Scaling scaling;
    for (size_t i = 0; i < w().Count(); ++i) scaling.scales.push_back(static_cast<float>(x().Scale(0) * w().Scale(i)));
    scaling.zero_points.assign(w().Count(), 0);
    return scaling;
  }

  Lowering& to_;
  const QuantizedOp& work_;
  const size_t input_;
};

// A unit computes in floats, so its sums must not wrap. Integer operators are specified to wrap.
void CheckSums(const Lowering& to, const QuantizedOp& work, const std::vector<int32_t>& bias, const qdq::Sums& sums) {
  if (!work.unit.IsQdq()) return;
  const Operand &x = work.inputs[0], &w = work.inputs[1];
  if (qdq::HoldsSums(to.editor().graph(), w.value, *x.quantization, *w.quantization, bias, sums)) return;
  Refuse("a sum of its ", to.DimsOf(w).Count() / sums.outputs,
         " products can be more than int32 holds, in which an NPU adds them: split it into several with fewer and add "
         "their results, or let another provider compute it");
}

// Emits the operator. Its last input, the bias, may be omitted.
FlatGraph::Op& EmitProduct(Lowering& to, const QuantizedOp& work, NsdkOpKind kind, int64_t channels,
                           const qdq::Sums& sums) {
  constexpr size_t kBiasInput = 2;
  std::vector<uint32_t> inputs = {to.Stored(work.inputs[0]), to.Stored(work.inputs[1])};
  Bias bias(to, work, kBiasInput);
  const std::vector<int32_t> numbers = bias.Numbers(channels);
  CheckSums(to, work, numbers, sums);
  if (const uint32_t added = bias.Add(numbers, channels); added != NSDK_NONE) inputs.push_back(added);
  return to.EmitLast(work, kind, std::move(inputs));
}

// Sums of matrices [..., k, n], or [n, k] if they are transposed: one sum for each column of each matrix.
qdq::Sums SumsOfColumns(const kit::Dims& w, bool transposed) {
  const int64_t rows = w[w.size() - 2], columns = w.back();
  if (transposed) return {rows, [columns](int64_t i) { return i / columns; }};
  return {w.Count(0, w.size() - 2) * columns,
          [rows, columns](int64_t i) { return i / (rows * columns) * columns + i % columns; }};
}

}  // namespace

void LowerConv(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const kit::ConvolutionShape shape(kit::WindowAttributes::Read(node), to.DimsOf(work.inputs[0]),
                                    to.DimsOf(work.inputs[1]), kit::CheckedGroup(node.Int("group", 1)));
  const int64_t terms = to.DimsOf(work.inputs[1]).Count() / std::max<int64_t>(shape.filters(), 1);
  FlatGraph::Op& op =
      EmitProduct(to, work, NSDK_CONV, shape.filters(), {shape.filters(), [terms](int64_t i) { return i / terms; }});
  std::vector<int64_t> pads = ListOf(shape.window.pads_begin);
  pads.insert(pads.end(), shape.window.pads_end.begin(), shape.window.pads_end.end());
  AddWindow(op, shape.window.strides, shape.window.dilations, std::move(pads), shape.group);
}

void LowerConvTranspose(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  const auto attributes = kit::TransposedConvolutionAttributes::Read(node);
  const kit::TransposedConvolutionShape shape(attributes, to.DimsOf(work.inputs[0]), to.DimsOf(work.inputs[1]));
  // The weights are [in, out / groups, ...].
  const kit::Dims w = to.DimsOf(work.inputs[1]);
  const int64_t filters = shape.y[1], of_group = w[1], places = w.Count(2, w.size());
  const int64_t inputs_of_group = w[0] / attributes.group;
  const qdq::Sums sums{filters, [=](int64_t i) {
                         const int64_t input = i / (of_group * places);
                         return input / inputs_of_group * of_group + i / places % of_group;
                       }};
  FlatGraph::Op& op = EmitProduct(to, work, NSDK_CONV_TRANSPOSE, filters, sums);
  std::vector<int64_t> pads = ListOf(shape.pads_begin), added;
  for (const int64_t pad : shape.pads_end) {
    pads.push_back(std::max<int64_t>(pad, 0));
    added.push_back(std::max<int64_t>(-pad, 0));
  }
  for (const int64_t pad : shape.pads_begin)
    if (pad < 0) Refuse("it adds to its result in front, which the NPU's interface hasn't");
  AddWindow(op, shape.strides, shape.dilations, std::move(pads), attributes.group);
  if (std::ranges::any_of(added, [](int64_t pad) { return pad != 0; })) op.Ints(NSDK_OUTPUT_PADS, std::move(added));
}

void LowerMatMul(Lowering& to, const QuantizedOp& work) {
  for (size_t i = 0; i < 2; ++i)
    if (const size_t rank = to.DimsOf(work.inputs[i]).size(); rank < 2)
      Refuse("its input ", i, " has ", rank, " dimensions; two or more expected");
  const kit::Dims w = to.DimsOf(work.inputs[1]);
  EmitProduct(to, work, NSDK_MATMUL, w.back(), SumsOfColumns(w, false));
}

void LowerGemm(Lowering& to, const QuantizedOp& work) {
  const ir::Node& node = to.NodeOf(work);
  if (node.Float("alpha", 1) != 1) Refuse("its alpha isn't 1");
  for (size_t i = 0; i < 2; ++i)
    if (const size_t rank = to.DimsOf(work.inputs[i]).size(); rank != 2)
      Refuse("its input ", i, " has ", rank, " dimensions; two expected");
  if (to.Has(work, 2)) {
    const kit::Dims c = to.DimsOf(work.inputs[2]);
    if (c.size() == 2 && c[0] != 1)
      Refuse("its C is a matrix ", kit::ShapeText({c.data(), c.size()}), "; one row expected");
  }
  const bool transposed_a = node.Int("transA", 0) != 0, transposed_b = node.Int("transB", 0) != 0;
  const kit::Dims w = to.DimsOf(work.inputs[1]);
  FlatGraph::Op& op = EmitProduct(to, work, NSDK_MATMUL, w[transposed_b ? 0 : 1], SumsOfColumns(w, transposed_b));
  if (transposed_a) op.Ints(NSDK_TRANSPOSE_A, {1});
  if (transposed_b) op.Ints(NSDK_TRANSPOSE_B, {1});
}

}  // namespace epiphyte::npu
